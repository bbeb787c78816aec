#include "flotilla/infer/find_model.h"

#include <filesystem>
#include <system_error>

#include "flotilla/checkpoint/manifest.h"

namespace flotilla {

std::string FindModel(const std::string& path) {
  const std::filesystem::path dir(path);
  const std::filesystem::path latest = dir / "latest";
  std::error_code ignored;
  if (std::filesystem::exists(dir / kManifestName, ignored)) return path;
  return std::filesystem::is_directory(latest, ignored) ? latest.string() : path;
}

}  // namespace flotilla
