// The figures of all trainers together: reports of one epoch, added up over the group.
#pragma once

#include <span>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/communicator/group.h"
#include "flotilla/report/summary.h"
#include "flotilla/tensor/metric_spec.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// Replaces rows, batches, skipped, dropped, loss, metrics and hints of *report by those of all
// trainers; seconds become those of the slowest, and step the last that any has seen: whoever ended
// earlier does not know it. Stage times and bad-row samples stay this trainer's. The same bits in
// every trainer. Collective: every trainer calls it with the same name.
Status SumReports(std::string_view name, std::span<const MetricSpec> metrics, Group& group,
                  Report* report);

// Makes *summary that of all trainers: workers, rows and stage times are added up, seconds are
// those of the slowest; samples of bad rows stay this trainer's. Collective, like SumReports.
Status SumSummaries(std::string_view name, Group& group, RunSummary* summary);

}  // namespace flotilla
