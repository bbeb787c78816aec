#include "flotilla/checkpoint/manifest_check.h"

#include <algorithm>
#include <set>
#include <string>

#include "flotilla/checkpoint/block_file.h"

namespace flotilla {
namespace {

constexpr std::string_view kTensorSuffix = ".safetensors";

Status CheckFile(const SavedFile& file) {
  // A name must not lead outside the directory of the model.
  if (!file.name.ends_with(kTensorSuffix) || file.name.size() > 255 ||
      file.name.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    return InvalidArgument("is not the name of a {} file", kTensorSuffix);
  }
  const int64_t blocks = file.bytes / kBlockBytes + (file.bytes % kBlockBytes != 0 ? 1 : 0);
  if (static_cast<int64_t>(file.blocks.size()) != blocks) {
    return InvalidArgument("{} block checksums for {} bytes", file.blocks.size(), file.bytes);
  }
  return absl::OkStatus();
}

Status CheckParameter(const Manifest& manifest, const SavedParameter& parameter,
                      const std::set<std::string>& files) {
  int64_t size = 1;
  for (const int64_t dim : parameter.shape) {
    if (dim < 1 || dim > kMaxElements / size) return InvalidArgument("its shape does not fit");
    size *= dim;
  }
  if (parameter.states > 0 && !manifest.info.optimizer_state) {
    return InvalidArgument("has state in a model without optimizer state");
  }
  if (!files.contains(parameter.file)) {
    return InvalidArgument("its file {} is not listed", parameter.file);
  }
  return absl::OkStatus();
}

// Removes the files of the table from the unassigned ones: each file belongs to one part.
Status CheckTable(const Manifest& manifest, const SavedTable& table,
                  std::set<std::string>* free_files) {
  if ((table.states > 0 || table.meta) && !manifest.info.optimizer_state) {
    return InvalidArgument("has state or meta in a model without optimizer state");
  }
  int next = 0;
  for (const SavedTablePart& part : table.parts) {
    if (free_files->erase(part.file) == 0) {
      return InvalidArgument("its file {} is not listed, or belongs to something else", part.file);
    }
    if (part.shards.first != next || part.shards.count < 1) {
      return InvalidArgument("file {} has shards [{}, {}), the next should be {}", part.file,
                             part.shards.first, part.shards.end(), next);
    }
    next = part.shards.end();
  }
  if (next != kVirtualShards) {
    return InvalidArgument("its files have the shards below {}, not all {}", next, kVirtualShards);
  }
  return absl::OkStatus();
}

}  // namespace

Status CheckManifest(const Manifest& manifest) {
  std::set<std::string> files;
  for (const SavedFile& file : manifest.files) {
    const std::string context = fmt::format("file {}", file.name);
    if (!files.insert(file.name).second) return InvalidArgument("{} is listed twice", context);
    FL_RETURN_IF_ERROR(Annotate(CheckFile(file), context));
  }
  std::set<std::string> names;
  const auto check_name = [&](const std::string& name, const std::string& context) -> Status {
    if (name.empty()) return InvalidArgument("{}: has no name", context);
    if (!names.insert(name).second) return InvalidArgument("{}: the name is used twice", context);
    return absl::OkStatus();
  };
  for (const SavedParameter& parameter : manifest.parameters) {
    const std::string context = fmt::format("parameter {}", parameter.name);
    FL_RETURN_IF_ERROR(check_name(parameter.name, context));
    FL_RETURN_IF_ERROR(Annotate(CheckParameter(manifest, parameter, files), context));
  }
  for (const SavedParameter& parameter : manifest.parameters) files.erase(parameter.file);
  for (const SavedTable& table : manifest.tables) {
    const std::string context = fmt::format("table {}", table.name);
    FL_RETURN_IF_ERROR(check_name(table.name, context));
    FL_RETURN_IF_ERROR(Annotate(CheckTable(manifest, table, &files), context));
  }
  return absl::OkStatus();
}

Status JoinTable(const SavedTable& table, std::vector<SavedTable>* tables) {
  const auto at = std::find_if(tables->begin(), tables->end(),
                               [&](const SavedTable& other) { return other.name == table.name; });
  if (at == tables->end()) {
    tables->push_back(table);
    return absl::OkStatus();
  }
  SavedTable alike = table;
  alike.parts = at->parts;
  if (alike != *at) {
    return InvalidArgument("table {}: two writers describe it differently", table.name);
  }
  at->parts.insert(at->parts.end(), table.parts.begin(), table.parts.end());
  std::sort(at->parts.begin(), at->parts.end(),
            [](const SavedTablePart& a, const SavedTablePart& b) {
              return a.shards.first < b.shards.first;
            });
  return absl::OkStatus();
}

}  // namespace flotilla
