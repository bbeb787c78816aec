#include "flotilla/fleet/group_report.h"

#include <algorithm>
#include <span>
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
  // Seconds and step of each trainer in a place of its own: what is added up is then all of them.
  const auto trainers = static_cast<size_t>(group.trainers());
  const size_t steps = figures + trainers, state_begin = steps + trainers;
  sums.resize(state_begin, 0);
  sums[figures + static_cast<size_t>(group.trainer())] = report->seconds;
  sums[steps + static_cast<size_t>(group.trainer())] = number(report->step);
  sums.insert(sums.end(), report->metric_state.begin(), report->metric_state.end());
  FL_RETURN_IF_ERROR(group.Sum(name, sums));

  report->rows = static_cast<int64_t>(sums[0]);
  report->batches = static_cast<int64_t>(sums[1]);
  report->skipped = static_cast<int64_t>(sums[2]);
  report->dropped = static_cast<int64_t>(sums[3]);
  report->loss = report->rows > 0 ? sums[4] / sums[0] : 0;
  const auto largest = [&](size_t begin) {
    return std::ranges::max(std::span<const double>(sums).subspan(begin, trainers));
  };
  report->seconds = largest(figures);
  report->step = static_cast<int64_t>(largest(steps));
  FL_ASSIGN_OR_RETURN(MetricSet all, MetricSet::Make(metrics));
  all.MergeState(std::span<const double>(sums).subspan(state_begin));
  report->metric_state = all.State();
  report->metrics = all.Values();
  report->hints = all.Hints();
  return absl::OkStatus();
}

}  // namespace flotilla
