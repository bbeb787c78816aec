#include "flotilla/run/time_order.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/dataset/csv_fields.h"
#include "flotilla/dataset/detect_format.h"
#include "flotilla/dataset/file_list.h"
#include "flotilla/dataset/source.h"
#include "flotilla/schema/fitted_schema.h"
#include "flotilla/schema/time_value.h"

namespace flotilla {
namespace {

constexpr int64_t kSampleRows = 100000;
// The share of rows that go back: a few late ones in rows that are in order; half of all changes in
// rows that are not.
constexpr double kMostBack = 0.01;
constexpr int64_t kHoursOfDay = 24, kHoursOfWeek = 7 * kHoursOfDay;

// The inputs of a time column, preferring one that gives the hour; empty: none.
struct TimeInputs {
  std::string hour, weekday;
};

TimeInputs InputsOfTime(const Schema& schema) {
  std::string name;
  TimeInputs inputs;
  for (const Column& column : schema.columns) {
    if (column.role != Column::Role::kTime) continue;
    const bool is_hour = column.part == Column::TimePart::kHour;
    if (column.name != name && (name.empty() || (is_hour && inputs.hour.empty()))) {
      name = column.name;
      inputs = {};
    }
    if (column.name == name) (is_hour ? inputs.hour : inputs.weekday) = column.input_name();
  }
  return inputs;
}

// The parts of the times of all rows, from 0; negative: missing. `found`: whether the rows have
// such an input.
std::vector<int64_t> PartsOf(const Batch& rows, std::span<const InputSpec> inputs,
                             const std::string& name, uint64_t first_id, bool* found) {
  const auto input = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const InputSpec& spec) { return spec.name == name; });
  *found = !name.empty() && input != inputs.end();
  std::vector<int64_t> parts;
  if (!*found) return parts;
  // The first id is that of missing times.
  for (const uint64_t id : rows.fields[input - inputs.begin()].ids.ids) {
    parts.push_back(static_cast<int64_t>(id - first_id) - 1);
  }
  return parts;
}

uint64_t FirstId(const FittedSchema& fitted, const std::string& input) {
  const std::vector<Column>& columns = fitted.schema().columns;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].role == Column::Role::kTime && columns[c].input_name() == input) {
      return fitted.id_ranges()[c].first;
    }
  }
  return 0;
}

// Moments that are known up to whole periods. A step of less than half a period has a direction;
// descending times would otherwise look like ascending ones, since both wrap once in a period.
bool StepsForward(std::span<const int64_t> moments, int64_t period) {
  int64_t back = 0, forward = 0;
  for (size_t i = 1; i < moments.size(); ++i) {
    const int64_t step = ((moments[i] - moments[i - 1]) % period + period) % period;
    forward += step > 0 && 2 * step < period ? 1 : 0;
    back += 2 * step > period ? 1 : 0;
  }
  return forward > back &&
         static_cast<double>(back) <= kMostBack * static_cast<double>(moments.size());
}

// The column that tells the time of a row; null: none.
const Column* TimeColumn(const Schema& schema) {
  const auto is_time = [](const Column& column) { return column.role == Column::Role::kTime; };
  const auto found = std::find_if(schema.columns.begin(), schema.columns.end(), is_time);
  return found == schema.columns.end() ? nullptr : &*found;
}

// The hours since 1970 of the first of the lines that has a time.
std::optional<int64_t> FirstHour(std::span<const std::string> lines, const Schema& schema,
                                 const Column& column) {
  const CsvFields fields(schema, std::vector<bool>(schema.SourceCount(), false));
  const int source = schema.Sources()[&column - schema.columns.data()];
  CsvRow row;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i == 0 && schema.header) {
      if (!fields.CheckHeader(lines[i]).ok()) return std::nullopt;
      continue;
    }
    TimeOfWeek time;
    if (fields.IsBlank(lines[i]) || !fields.Split(lines[i], &row).ok()) continue;
    if (ReadTime(row.sources()[source], column.time, &time)) return time.hours_since_1970;
  }
  return std::nullopt;
}

}  // namespace

bool FilesInTimeOrder(std::span<const std::string> files, const ParserSpec& format,
                      const SourceOptions& source) {
  constexpr int64_t kLookLines = 20;
  const StatusOr<Schema> schema = SchemaTextOfSpec(format);
  const Column* const column = schema.ok() ? TimeColumn(*schema) : nullptr;
  if (column == nullptr || files.size() < 2 || !source.pipe_command.empty()) return true;
  std::optional<int64_t> before;
  for (const std::string& file : files) {
    if (file == "-" || !SchemeOf(file).empty()) continue;
    const auto lines = FirstLines(file, kLookLines, source);
    if (!lines.ok()) continue;
    const std::optional<int64_t> hour = FirstHour(*lines, *schema, *column);
    if (!hour) continue;
    if (before && *hour < *before) return false;
    before = hour;
  }
  return true;
}

StatusOr<bool> InTimeOrder(InMemoryDataset& rows, const ParserSpec& format) {
  const StatusOr<FittedSchema> fitted = SchemaOfSpec(format);
  if (!fitted.ok()) return false;  // other formats have no columns
  const TimeInputs names = InputsOfTime(fitted->schema());
  if ((names.hour.empty() && names.weekday.empty()) || rows.rows() == 0) return false;
  std::vector<uint32_t> sample;
  const int64_t step = std::max<int64_t>(1, rows.rows() / kSampleRows);
  for (int64_t row = 0; row < rows.rows(); row += step) {
    sample.push_back(static_cast<uint32_t>(row));
  }
  FL_ASSIGN_OR_RETURN(const auto view, rows.View({}, std::move(sample)));
  const Batch copy = view->CopyRows();
  bool has_hour = false, has_day = false;
  const std::vector<int64_t> hours =
      PartsOf(copy, rows.inputs(), names.hour, FirstId(*fitted, names.hour), &has_hour);
  const std::vector<int64_t> days =
      PartsOf(copy, rows.inputs(), names.weekday, FirstId(*fitted, names.weekday), &has_day);
  if (!has_hour && !has_day) return false;
  // A bag of several columns has no time of its own.
  const auto size = static_cast<size_t>(view->rows());
  if ((has_hour && hours.size() != size) || (has_day && days.size() != size)) return false;
  std::vector<int64_t> moments;
  for (size_t i = 0; i < size; ++i) {
    const int64_t hour = has_hour ? hours[i] : 0, day = has_day ? days[i] : 0;
    // Days count in hours where both are known.
    if (hour >= 0 && day >= 0) moments.push_back((has_hour ? kHoursOfDay : 1) * day + hour);
  }
  return StepsForward(moments, !has_hour ? 7 : has_day ? kHoursOfWeek : kHoursOfDay);
}

}  // namespace flotilla
