#include "flotilla/schema/statistics.h"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "flotilla/base/hash.h"
#include "flotilla/base/json_value.h"
#include "flotilla/base/output_file.h"
#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

constexpr char kFormat[] = "flotilla schema statistics";
constexpr int64_t kVersion = 1;
constexpr size_t kMaxStatisticsBytes = size_t{4} << 30;
constexpr std::string_view kChecksum = "xxh64 ";
constexpr std::array<std::string_view, 3> kLabelTasks = {"click", "regression", "classes"};

// Little-endian bytes of the keys in base64: 11 characters each.
std::string KeysToText(const std::vector<uint64_t>& keys) {
  std::string bytes(keys.size() * 8, '\0');
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t b = 0; b < 8; ++b) bytes[8 * i + b] = static_cast<char>(keys[i] >> (8 * b));
  }
  return absl::Base64Escape(bytes);
}

bool KeysFromText(const std::string& text, std::vector<uint64_t>* keys) {
  std::string bytes;
  if (!absl::Base64Unescape(text, &bytes) || bytes.size() % 8 != 0) return false;
  keys->assign(bytes.size() / 8, 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    (*keys)[i / 8] |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * (i % 8));
  }
  return true;
}

nlohmann::ordered_json ToJson(const NumberStatistics& number) {
  return {{"count", number.count},    {"missing", number.missing}, {"min", number.min},
          {"max", number.max},        {"mean", number.mean},       {"deviation", number.deviation},
          {"borders", number.borders}};
}

nlohmann::ordered_json ToJson(const VocabularyStatistics& vocabulary) {
  return {{"name", vocabulary.name},     {"distinct", vocabulary.distinct},
          {"values", vocabulary.values}, {"rare", vocabulary.rare},
          {"hashed", vocabulary.hashed}, {"keys", KeysToText(vocabulary.keys)}};
}

nlohmann::ordered_json ToJson(const LabelStatistics& label) {
  return {{"task", NameOf(label.task)}, {"classes", label.classes},     {"numeric", label.numeric},
          {"mean", label.mean},         {"deviation", label.deviation}, {"count", label.count}};
}

template <typename T>
nlohmann::ordered_json ListToJson(const std::vector<T>& values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const T& value : values) list.push_back(ToJson(value));
  return list;
}

NumberStatistics ReadNumber(const JsonValue& json) {
  return {.count = json["count"].Whole(),
          .missing = json["missing"].Whole(),
          .min = json["min"].Number(),
          .max = json["max"].Number(),
          .mean = json["mean"].Number(),
          .deviation = json["deviation"].Number(),
          .borders = json["borders"].Each(&JsonValue::Number)};
}

VocabularyStatistics ReadVocabulary(const JsonValue& json) {
  VocabularyStatistics vocabulary{.name = json["name"].Text(),
                                  .keys = {},
                                  .distinct = json["distinct"].Whole(),
                                  .values = json["values"].Whole(),
                                  .rare = json["rare"].Whole(),
                                  .hashed = json["hashed"].Flag()};
  const JsonValue keys = json["keys"];
  if (!KeysFromText(keys.Text(), &vocabulary.keys)) keys.Fail("expected 8-byte keys in base64");
  return vocabulary;
}

LabelStatistics ReadLabel(const JsonValue& json) {
  return {.task = static_cast<LabelTask>(json["task"].OneOf(kLabelTasks)),
          .classes = json["classes"].Each(&JsonValue::Text),
          .numeric = json["numeric"].Flag(),
          .mean = json["mean"].Number(),
          .deviation = json["deviation"].Number(),
          .count = json["count"].Whole()};
}

StatusOr<std::string_view> CheckedLine(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return DataLoss("statistics: the checksum is missing");
  const std::string_view line = text.substr(0, end);
  std::string_view rest = text.substr(end + 1);
  const std::string expected = fmt::format("{}{:016x}", kChecksum, HashBytes(line));
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  if (rest == expected) return line;
  return DataLoss("statistics: the checksum differs: the text was changed or is incomplete");
}

}  // namespace

uint64_t SchemaKey(const Schema& schema) { return HashBytes(schema.ToJson()); }

std::string StatisticsToText(const Statistics& statistics) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const Statistics::File& file : statistics.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}});
  }
  const nlohmann::ordered_json json = {{"format", kFormat},
                                       {"version", kVersion},
                                       {"schema", statistics.schema},
                                       {"files", files},
                                       {"rows", statistics.rows},
                                       {"numbers", ListToJson(statistics.numbers)},
                                       {"cut", statistics.cut},
                                       {"vocabularies", ListToJson(statistics.vocabularies)},
                                       {"labels", ListToJson(statistics.labels)}};
  // File names need not be UTF-8.
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return fmt::format("{}\n{}{:016x}\n", line, kChecksum, HashBytes(line));
}

StatusOr<Statistics> StatisticsFromText(std::string_view text) {
  FL_ASSIGN_OR_RETURN(const std::string_view line, CheckedLine(text));
  FL_ASSIGN_OR_RETURN(const nlohmann::json parsed, ParseJson(line));
  Status status;
  const JsonValue json(parsed, &status);
  if (json["format"].Text() != kFormat) json["format"].Fail(fmt::format("expected {}", kFormat));
  json["version"].Whole(kVersion, kVersion);
  Statistics statistics;
  statistics.schema = json["schema"].Unsigned();
  statistics.files = json["files"].Each([](const JsonValue& file) {
    return Statistics::File{.name = file["name"].Text(), .bytes = file["bytes"].Whole()};
  });
  statistics.rows = json["rows"].Whole();
  statistics.numbers = json["numbers"].Each(ReadNumber);
  statistics.cut = json["cut"].Wholes();
  statistics.vocabularies = json["vocabularies"].Each(ReadVocabulary);
  statistics.labels = json["labels"].Each(ReadLabel);
  if (!status.ok()) return Annotate(status, "statistics");
  return statistics;
}

StatusOr<Statistics> ReadStatistics(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxStatisticsBytes));
  StatusOr<Statistics> statistics = StatisticsFromText(text);
  if (!statistics.ok()) return Annotate(statistics.status(), path);
  return statistics;
}

Status WriteStatistics(const std::string& path, const Statistics& statistics) {
  return WriteFile(path, StatisticsToText(statistics));
}

Status CheckFits(const Statistics& statistics, const Schema& schema) {
  const size_t columns = schema.columns.size();
  size_t vocabularies = 0;
  for (const int index : schema.VocabularyIndexes()) {
    vocabularies = std::max(vocabularies, static_cast<size_t>(index + 1));
  }
  if (statistics.schema == SchemaKey(schema) && statistics.numbers.size() == columns &&
      statistics.cut.size() == columns && statistics.labels.size() == columns &&
      statistics.vocabularies.size() == vocabularies) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "the statistics were made for another schema: collect them again with `flotilla data stats "
      "TRAINING_FILES --schema FILE`, or take back the change of the schema");
}

std::string DifferenceOfFiles(const Statistics& statistics,
                              std::span<const Statistics::File> files) {
  if (statistics.files.size() != files.size()) {
    return fmt::format("it was made from {} file{}, not {}", statistics.files.size(),
                       statistics.files.size() == 1 ? "" : "s", files.size());
  }
  // Statistics do not depend on the order of the files.
  const auto sorted = [](std::span<const Statistics::File> list) {
    std::vector<Statistics::File> copy(list.begin(), list.end());
    std::sort(copy.begin(), copy.end(), [](const Statistics::File& a, const Statistics::File& b) {
      return std::tie(a.name, a.bytes) < std::tie(b.name, b.bytes);
    });
    return copy;
  };
  const std::vector<Statistics::File> then = sorted(statistics.files), now = sorted(files);
  for (size_t i = 0; i < now.size(); ++i) {
    if (then[i] == now[i]) continue;
    return fmt::format("it was made from {} ({} bytes), not {} ({} bytes)", then[i].name,
                       then[i].bytes, now[i].name, now[i].bytes);
  }
  return "";
}

}  // namespace flotilla
