#include "flotilla/run/time_order.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/schema/fitted_schema.h"

namespace flotilla {
namespace {

constexpr int64_t kSampleRows = 100000;
// The share of rows that go back: once a day, or once a week, in rows that are in order; half of
// all changes in rows that are not.
constexpr double kMostBack = 0.01;

// The input of a time column, preferring the hour, which changes more often; empty: none.
std::string TimeInput(const Schema& schema) {
  std::string input;
  for (const Column& column : schema.columns) {
    if (column.role != Column::Role::kTime) continue;
    if (input.empty() || column.part == Column::TimePart::kHour) input = column.input_name();
  }
  return input;
}

}  // namespace

StatusOr<bool> InTimeOrder(InMemoryDataset& rows, const ParserSpec& format) {
  const StatusOr<Schema> schema = SchemaTextOfSpec(format);
  if (!schema.ok()) return false;  // other formats have no columns
  const std::string name = TimeInput(*schema);
  const std::span<const InputSpec> inputs = rows.inputs();
  const auto input = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const InputSpec& spec) { return spec.name == name; });
  if (input == inputs.end() || rows.rows() == 0) return false;
  std::vector<uint32_t> sample;
  const int64_t step = std::max<int64_t>(1, rows.rows() / kSampleRows);
  for (int64_t row = 0; row < rows.rows(); row += step) {
    sample.push_back(static_cast<uint32_t>(row));
  }
  FL_ASSIGN_OR_RETURN(const auto view, rows.View({}, std::move(sample)));
  const Batch copy = view->CopyRows();
  // The ids of times ascend with the time.
  const auto& ids = copy.fields[input - inputs.begin()].ids.ids;
  int64_t back = 0, changes = 0;
  for (size_t i = 1; i < ids.size(); ++i) {
    back += ids[i] < ids[i - 1] ? 1 : 0;
    changes += ids[i] != ids[i - 1] ? 1 : 0;
  }
  return changes > 0 && static_cast<double>(back) <= kMostBack * static_cast<double>(ids.size());
}

}  // namespace flotilla
