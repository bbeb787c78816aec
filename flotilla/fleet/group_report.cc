#include "flotilla/fleet/group_report.h"

#include <algorithm>
#include <vector>

#include "flotilla/trainer/metric_set.h"

namespace flotilla {

Status SumReports(std::string_view name, std::span<const MetricSpec> metrics, Group& group,
                  Report* report) {
  if (group.trainers() == 1) return absl::OkStatus();
  const auto number = [](int64_t count) { return static_cast<double>(count); };
  std::vector<double> sums = {number(report->rows), number(report->batches),
                              number(report->skipped), number(report->dropped),
                              report->loss * number(report->rows)};
  const size_t figures = sums.size();
  // Seconds of each trainer in a place of its own: what is added up is then all of them.
  sums.resize(figures + static_cast<size_t>(group.trainers()), 0);
  sums[figures + static_cast<size_t>(group.trainer())] = report->seconds;
  const size_t state_begin = sums.size();
  sums.insert(sums.end(), report->metric_state.begin(), report->metric_state.end());
  FL_RETURN_IF_ERROR(group.Sum(name, sums));

  report->rows = static_cast<int64_t>(sums[0]);
  report->batches = static_cast<int64_t>(sums[1]);
  report->skipped = static_cast<int64_t>(sums[2]);
  report->dropped = static_cast<int64_t>(sums[3]);
  report->loss = report->rows > 0 ? sums[4] / sums[0] : 0;
  report->seconds = *std::max_element(sums.begin() + static_cast<std::ptrdiff_t>(figures),
                                      sums.begin() + static_cast<std::ptrdiff_t>(state_begin));
  FL_ASSIGN_OR_RETURN(MetricSet all, MetricSet::Make(metrics));
  all.MergeState(std::span<const double>(sums).subspan(state_begin));
  report->metric_state = all.State();
  report->metrics = all.Values();
  report->hints = all.Hints();
  return absl::OkStatus();
}

}  // namespace flotilla
