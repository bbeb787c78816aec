#include "flotilla/checkpoint/manifest.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "flotilla/base/hash.h"
#include "flotilla/base/json_value.h"
#include "flotilla/checkpoint/block_file.h"
#include "flotilla/checkpoint/manifest_check.h"
#include "flotilla/checkpoint/optimizer_json.h"

namespace flotilla {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kFirst = R"({"format":"flotilla model","version":)";
constexpr std::string_view kSecond = R"(,"checksum":")";
constexpr std::string_view kThird = "\",\n";
constexpr size_t kHexDigits = 16;

std::string Hex(uint64_t value) { return fmt::format("{:016x}", value); }

bool FromHex(std::string_view digits, uint64_t* value) {
  if (digits.size() != kHexDigits) return false;
  // from_chars also accepts upper-case letters, which would hide a flipped bit.
  for (const char c : digits) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return std::from_chars(digits.data(), digits.data() + digits.size(), *value, 16).ec ==
         std::errc();
}

// ---- Writing ----

Json ToJson(const SavedParameter& parameter) {
  Json json = {{"name", parameter.name},   {"dtype", "F32"},
               {"shape", parameter.shape}, {"states", parameter.states},
               {"file", parameter.file},   {"tensor", parameter.tensor}};
  if (parameter.states > 0) json["state_tensor"] = parameter.state_tensor;
  return json;
}

Json ToJson(const SavedTable& table) {
  Json parts = Json::array();
  for (const SavedTablePart& part : table.parts) {
    parts.push_back({{"file", part.file},
                     {"first_shard", part.shards.first},
                     {"shards", part.shards.count},
                     {"rows", part.rows}});
  }
  return {{"name", table.name},         {"dtype", "F32"},           {"dim", table.dim},
          {"id_limit", table.id_limit}, {"states", table.states},   {"meta", table.meta},
          {"rows", table.rows()},       {"parts", std::move(parts)}};
}

Json ToJson(const SavedFile& file) {
  std::string blocks;
  blocks.reserve(file.blocks.size() * kHexDigits);
  for (const uint64_t block : file.blocks) blocks += Hex(block);
  return {{"name", file.name},
          {"bytes", file.bytes},
          {"block_bytes", kBlockBytes},
          {"checksum", Hex(file.checksum())},
          {"blocks", std::move(blocks)}};
}

template <typename T>
Json ListToJson(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(ToJson(value));
  return list;
}

// ---- Reading: errors go to the status behind the object ----

void CheckDtype(const JsonValue& json) {
  if (json["dtype"].Text() != "F32") json["dtype"].Fail("not F32");
}

SavedParameter ParameterFromJson(const JsonValue& json) {
  CheckDtype(json);
  SavedParameter parameter{.name = json["name"].Text(),
                           .shape = json["shape"].Wholes(),
                           .states = static_cast<int>(json["states"].Whole(0, kMaxStates)),
                           .file = json["file"].Text(),
                           .tensor = json["tensor"].Text(),
                           .state_tensor = ""};
  if (parameter.states > 0) parameter.state_tensor = json["state_tensor"].Text();
  return parameter;
}

SavedTable TableFromJson(const JsonValue& json) {
  CheckDtype(json);
  SavedTable table{.name = json["name"].Text(),
                   .dim = json["dim"].Whole(1, kMaxDim),
                   .id_limit = json["id_limit"].Whole(),
                   .states = static_cast<int>(json["states"].Whole(0, kMaxStates)),
                   .meta = json["meta"].Flag(),
                   .parts = {}};
  for (const JsonValue& part : json["parts"].List()) {
    table.parts.push_back(
        {.file = part["file"].Text(),
         .shards = {.first = static_cast<int>(part["first_shard"].Whole(0, kVirtualShards)),
                    .count = static_cast<int>(part["shards"].Whole(0, kVirtualShards))},
         .rows = part["rows"].Whole(0, kMaxRows)});
  }
  if (json["rows"].Whole() != table.rows()) json["rows"].Fail("not the sum of its parts");
  return table;
}

SavedFile FileFromJson(const JsonValue& json) {
  SavedFile file{.name = json["name"].Text(), .bytes = json["bytes"].Whole(), .blocks = {}};
  if (json["block_bytes"].Whole() != kBlockBytes) json["block_bytes"].Fail("not 1048576");
  const std::string blocks = json["blocks"].Text();
  for (size_t at = 0; at < blocks.size(); at += kHexDigits) {
    uint64_t block = 0;
    if (!FromHex(std::string_view(blocks).substr(at, kHexDigits), &block)) {
      json["blocks"].Fail("not checksums of 16 hex digits");
      break;
    }
    file.blocks.push_back(block);
  }
  if (json["checksum"].Text() != Hex(file.checksum())) {
    json["checksum"].Fail("not that of its blocks");
  }
  return file;
}

template <typename T>
void ReadContents(const JsonValue& json, T* out) {
  out->parameters = json["parameters"].Each(ParameterFromJson);
  out->tables = json["tables"].Each(TableFromJson);
  out->files = json["files"].Each(FileFromJson);
}

CheckpointInfo InfoFromJson(const JsonValue& json) {
  CheckpointInfo info{.step = json["step"].Whole(),
                      .seed = json["seed"].Unsigned(),
                      .optimizer_state = json["optimizer_state"].Flag(),
                      .inference = json["inference"].exists() && json["inference"].Flag(),
                      .optimizer = OptimizerFromJson(json["optimizer"]),
                      .sections = json["sections"].EachMember(&JsonValue::Text)};
  json["virtual_shards"].Whole(kVirtualShards, kVirtualShards);
  return info;
}

// Checks the first line; returns the offset where the rest begins.
StatusOr<size_t> CheckFirstLine(std::string_view text) {
  const auto expect = [&](size_t at, std::string_view what) {
    for (size_t i = 0; i < what.size(); ++i) {
      if (at + i < text.size() && text[at + i] == what[i]) continue;
      return DataLoss("damaged at offset {}: the first line is not that of a manifest", at + i);
    }
    return absl::OkStatus();
  };
  FL_RETURN_IF_ERROR(expect(0, kFirst));
  int version = 0;
  const char* const begin = text.data() + kFirst.size();
  const auto [stop, error] = std::from_chars(begin, text.data() + text.size(), version);
  size_t at = kFirst.size();
  if (error != std::errc() || version < 1 || *begin == '0') {
    return DataLoss("damaged at offset {}: no version found", at);
  }
  if (version > kModelFormatVersion) {
    return FailedPrecondition(
        "the model has format version {}, this program reads up to version {}: a newer program is "
        "needed",
        version, kModelFormatVersion);
  }
  at += static_cast<size_t>(stop - begin);
  FL_RETURN_IF_ERROR(expect(at, kSecond));
  at += kSecond.size();
  uint64_t checksum = 0;
  if (!FromHex(text.substr(at, kHexDigits), &checksum)) {
    return DataLoss("damaged at offset {}: no checksum found", at);
  }
  at += kHexDigits;
  FL_RETURN_IF_ERROR(expect(at, kThird));
  at += kThird.size();
  if (HashBytes(text.substr(at)) == checksum) return at;
  return DataLoss("checksum mismatch at offset {} ({} bytes)", at, text.size() - at);
}

}  // namespace

int64_t SavedTable::rows() const {
  int64_t rows = 0;
  for (const SavedTablePart& part : parts) rows += part.rows;
  return rows;
}

uint64_t SavedFile::checksum() const {
  return HashBytes(
      {reinterpret_cast<const char*>(blocks.data()), blocks.size() * sizeof(uint64_t)});
}

StatusOr<std::string> CheckpointPart::ToText() const {
  Json json;
  json["parameters"] = ListToJson(parameters);
  json["tables"] = ListToJson(tables);
  json["files"] = ListToJson(files);
  return DumpJson(json, -1);
}

StatusOr<CheckpointPart> CheckpointPart::FromText(std::string_view text) {
  auto json = ParseJson(text);
  if (!json.ok()) return Annotate(json.status(), "part of a checkpoint");
  CheckpointPart part;
  Status status;
  ReadContents(JsonValue(*json, &status), &part);
  if (!status.ok()) return Annotate(status, "part of a checkpoint");
  return part;
}

StatusOr<Manifest> Manifest::Join(CheckpointInfo info, std::span<const CheckpointPart> parts) {
  Manifest manifest;
  manifest.info = std::move(info);
  for (const CheckpointPart& part : parts) {
    manifest.parameters.insert(manifest.parameters.end(), part.parameters.begin(),
                               part.parameters.end());
    manifest.files.insert(manifest.files.end(), part.files.begin(), part.files.end());
    for (const SavedTable& table : part.tables) {
      FL_RETURN_IF_ERROR(JoinTable(table, &manifest.tables));
    }
  }
  FL_RETURN_IF_ERROR(CheckManifest(manifest));
  return manifest;
}

StatusOr<std::string> Manifest::ToText() const {
  if (!AreFinite(info.optimizer)) {
    return InvalidArgument("optimizer {} has a number that is not finite", info.optimizer.name);
  }
  Json json;
  json["step"] = info.step;
  json["seed"] = info.seed;
  json["virtual_shards"] = kVirtualShards;
  json["optimizer_state"] = info.optimizer_state;
  if (info.inference) json["inference"] = true;
  json["optimizer"] = OptimizerToJson(info.optimizer);
  json["parameters"] = ListToJson(parameters);
  json["tables"] = ListToJson(tables);
  json["sections"] = Json(info.sections);
  json["files"] = ListToJson(files);
  FL_ASSIGN_OR_RETURN(const std::string object, DumpJson(json, 1));
  // The object's own brace is in the first line.
  const std::string rest = object.substr(object.find('\n') + 1) + "\n";
  return fmt::format("{}{}{}{}{}{}", kFirst, kModelFormatVersion, kSecond, Hex(HashBytes(rest)),
                     kThird, rest);
}

StatusOr<Manifest> Manifest::FromText(std::string_view text) {
  FL_RETURN_IF_ERROR(CheckFirstLine(text).status());
  auto json = ParseJson(text);
  if (!json.ok()) return DataLoss("{}", Message(json.status()));
  Manifest manifest;
  Status status;
  const JsonValue object(*json, &status);
  manifest.info = InfoFromJson(object);
  ReadContents(object, &manifest);
  if (status.ok()) status = CheckManifest(manifest);
  if (!status.ok()) return DataLoss("{}", Message(status));
  return manifest;
}

namespace {

template <typename T>
const T* FindByName(const std::vector<T>& values, std::string_view name) {
  const auto at = std::find_if(values.begin(), values.end(),
                               [&](const T& value) { return value.name == name; });
  return at == values.end() ? nullptr : &*at;
}

}  // namespace

const SavedParameter* Manifest::FindParameter(std::string_view name) const {
  return FindByName(parameters, name);
}
const SavedTable* Manifest::FindTable(std::string_view name) const {
  return FindByName(tables, name);
}

}  // namespace flotilla
