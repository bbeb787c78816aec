#include "flotilla/infer/tensor_sink.h"

#include <cctype>
#include <map>

namespace flotilla {

std::string FileNameOf(const std::string& name) {
  std::string file = name;
  for (char& c : file) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (!plain) c = '_';
  }
  if (file.empty() || file[0] == '.') file.replace(0, file.empty() ? 0 : 1, "_");
  return file;
}

Status CheckFileNames(const ExportPlan& plan) {
  std::map<std::string, std::string> taken;
  // A table also has NAME.ids and NAME.weights.
  const auto take = [&taken](const std::string& file, const std::string& name) -> Status {
    const auto [place, fresh] = taken.emplace(file, name);
    if (fresh) return absl::OkStatus();
    return InvalidArgument("{} and {} would both be written to {}: export them one by one",
                           place->second, name, file);
  };
  for (const SavedParameter* parameter : plan.parameters) {
    FL_RETURN_IF_ERROR(take(FileNameOf(parameter->name), parameter->name));
  }
  for (const SavedTable* table : plan.tables) {
    const std::string file = FileNameOf(table->name);
    for (const char* part : {"", ".ids", ".weights"}) {
      FL_RETURN_IF_ERROR(take(file + part, table->name));
    }
  }
  return absl::OkStatus();
}

}  // namespace flotilla
