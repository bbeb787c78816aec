#include "flotilla/dataset/criteo_statistics.h"

#include <nlohmann/json.hpp>

#include "flotilla/base/json_value.h"
#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "flotilla criteo statistics";
constexpr int kStatisticsVersion = 1;
constexpr size_t kMaxStatisticsBytes = 1 << 20;

std::string NameOf(int column) { return fmt::format("I{}", column + 1); }

Json ColumnJson(int i, const CriteoStatistics::Column& column) {
  return {{"name", NameOf(i)}, {"count", column.count}, {"missing", column.missing},
          {"min", column.min}, {"p95", column.p95},     {"exact", column.exact}};
}

CriteoStatistics::Column ReadColumn(const JsonValue& json, int i) {
  const JsonValue name = json["name"];
  if (const std::string found = name.Text(); found != NameOf(i)) {
    name.Fail(fmt::format("expected \"{}\", found \"{}\"", NameOf(i), found));
  }
  const CriteoStatistics::Column column{.count = json["count"].Whole(),
                                        .missing = json["missing"].Whole(),
                                        .min = json["min"].Whole(INT64_MIN),
                                        .p95 = json["p95"].Whole(INT64_MIN),
                                        .exact = json["exact"].Flag()};
  if (column.p95 < column.min) {
    json["p95"].Fail(fmt::format("{} is below min {}", column.p95, column.min));
  }
  return column;
}

}  // namespace

std::string ToText(const CriteoStatistics& statistics) {
  Json columns = Json::array();
  for (int i = 0; i < kCriteoNumbers; ++i) columns.push_back(ColumnJson(i, statistics.columns[i]));
  const Json json = {{"format", kFormat},
                     {"version", kStatisticsVersion},
                     {"train_rows", statistics.train_rows},
                     {"test_rows", statistics.test_rows},
                     {"seed", statistics.seed},
                     {"test_share", statistics.test_share},
                     {"buckets", statistics.buckets},
                     {"min_count", statistics.min_count},
                     {"columns", std::move(columns)}};
  return json.dump(2) + "\n";
}

StatusOr<CriteoStatistics> CriteoStatisticsFromText(std::string_view text) {
  FL_ASSIGN_OR_RETURN(const nlohmann::json parsed, ParseJson(text));
  Status status;
  const JsonValue json(parsed, &status);
  if (const std::string format = json["format"].Text(); format != kFormat) {
    json["format"].Fail(fmt::format("expected \"{}\", found \"{}\"", kFormat, format));
  }
  if (const int64_t version = json["version"].Whole(); version != kStatisticsVersion) {
    json["version"].Fail(
        fmt::format("{} is not supported, expected {}", version, kStatisticsVersion));
  }
  CriteoStatistics statistics;
  statistics.train_rows = json["train_rows"].Whole();
  statistics.test_rows = json["test_rows"].Whole();
  statistics.seed = json["seed"].Unsigned();
  statistics.test_share = json["test_share"].Number();
  statistics.buckets = json["buckets"].Text();
  statistics.min_count = json["min_count"].Whole();
  const std::vector<JsonValue> columns = json["columns"].List();
  if (columns.size() != kCriteoNumbers) {
    json["columns"].Fail(fmt::format("expected an array of {} objects", kCriteoNumbers));
  }
  FL_RETURN_IF_ERROR(status);
  for (int i = 0; i < kCriteoNumbers; ++i) statistics.columns[i] = ReadColumn(columns[i], i);
  FL_RETURN_IF_ERROR(status);
  return statistics;
}

StatusOr<CriteoStatistics> ReadCriteoStatistics(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxStatisticsBytes));
  StatusOr<CriteoStatistics> statistics = CriteoStatisticsFromText(text);
  if (!statistics.ok()) return Annotate(statistics.status(), path);
  return statistics;
}

}  // namespace flotilla
