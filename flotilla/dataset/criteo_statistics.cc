#include "flotilla/dataset/criteo_statistics.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "flotilla criteo statistics";
constexpr int kStatisticsVersion = 1;
constexpr size_t kMaxStatisticsBytes = 1 << 20;

// "line 3, column 7" of byte `offset`, both from 1.
std::string PlaceOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1);
  return fmt::format("line {}, column {}", line, std::max<size_t>(column, 1));
}

StatusOr<Json> ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    return InvalidArgument("{}: not valid JSON", PlaceOf(text, e.byte));
  }
}

// Reads members of one object; keeps the first error, prefixed with `place`.
class Members {
 public:
  Members(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) error_ = InvalidArgument("{}expected an object", place_);
  }

  void Read(const char* key, int64_t* value, int64_t least) {
    const Json* found = Find(key, "a whole number", &Json::is_number_integer);
    if (found == nullptr) return;
    const bool too_large = found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX;
    if (!too_large) *value = found->get<int64_t>();
    if (too_large || *value < least) Fail(key, fmt::format("{} is out of range", found->dump()));
  }
  void Read(const char* key, uint64_t* value) {
    const Json* found = Find(key, "a whole number from 0 on", &Json::is_number_unsigned);
    if (found != nullptr) *value = found->get<uint64_t>();
  }
  void Read(const char* key, double* value) {
    const Json* found = Find(key, "a number", &Json::is_number);
    if (found != nullptr) *value = found->get<double>();
  }
  void Read(const char* key, bool* value) {
    const Json* found = Find(key, "true or false", &Json::is_boolean);
    if (found != nullptr) *value = found->get<bool>();
  }
  void Read(const char* key, std::string* value) {
    const Json* found = Find(key, "a string", &Json::is_string);
    if (found != nullptr) *value = found->get<std::string>();
  }
  void Fail(const char* key, std::string_view what) {
    if (error_.ok()) error_ = InvalidArgument("{}{}: {}", place_, key, what);
  }
  const Status& status() const { return error_; }

 private:
  const Json* Find(const char* key, const char* expected, bool (Json::*is)() const noexcept) {
    if (!error_.ok()) return nullptr;
    const auto found = json_.find(key);
    if (found == json_.end()) {
      Fail(key, fmt::format("expected {}, it is missing", expected));
    } else if (!((*found).*is)()) {
      Fail(key, fmt::format("expected {}, found {}", expected, found->dump()));
    }
    return error_.ok() ? &*found : nullptr;
  }

  const Json& json_;
  const std::string place_;
  Status error_;
};

std::string NameOf(int column) { return fmt::format("I{}", column + 1); }

Json ColumnJson(int i, const CriteoStatistics::Column& column) {
  return {{"name", NameOf(i)}, {"count", column.count}, {"missing", column.missing},
          {"min", column.min}, {"p95", column.p95},     {"exact", column.exact}};
}

Status ReadColumn(const Json& json, int i, CriteoStatistics::Column* column) {
  Members members(json, fmt::format("columns[{}].", i));
  std::string name;
  members.Read("name", &name);
  if (name != NameOf(i)) {
    members.Fail("name", fmt::format("expected \"{}\", found \"{}\"", NameOf(i), name));
  }
  members.Read("count", &column->count, 0);
  members.Read("missing", &column->missing, 0);
  members.Read("min", &column->min, INT64_MIN);
  members.Read("p95", &column->p95, INT64_MIN);
  members.Read("exact", &column->exact);
  if (column->p95 < column->min) {
    members.Fail("p95", fmt::format("{} is below min {}", column->p95, column->min));
  }
  return members.status();
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
  FL_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  Members members(json, "");
  CriteoStatistics statistics;
  std::string format;
  int64_t version = 0;
  members.Read("format", &format);
  if (format != kFormat) {
    members.Fail("format", fmt::format("expected \"{}\", found \"{}\"", kFormat, format));
  }
  members.Read("version", &version, 0);
  if (version != kStatisticsVersion) {
    members.Fail("version",
                 fmt::format("{} is not supported, expected {}", version, kStatisticsVersion));
  }
  members.Read("train_rows", &statistics.train_rows, 0);
  members.Read("test_rows", &statistics.test_rows, 0);
  members.Read("seed", &statistics.seed);
  members.Read("test_share", &statistics.test_share);
  members.Read("buckets", &statistics.buckets);
  members.Read("min_count", &statistics.min_count, 0);
  FL_RETURN_IF_ERROR(members.status());
  const auto columns = json.find("columns");
  if (columns == json.end() || !columns->is_array() || columns->size() != kCriteoNumbers) {
    return InvalidArgument("columns: expected an array of {} objects", kCriteoNumbers);
  }
  for (int i = 0; i < kCriteoNumbers; ++i) {
    FL_RETURN_IF_ERROR(ReadColumn((*columns)[i], i, &statistics.columns[i]));
  }
  return statistics;
}

StatusOr<CriteoStatistics> ReadCriteoStatistics(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxStatisticsBytes));
  StatusOr<CriteoStatistics> statistics = CriteoStatisticsFromText(text);
  if (!statistics.ok()) return Annotate(statistics.status(), path);
  return statistics;
}

}  // namespace flotilla
