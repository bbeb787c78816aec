// Reports of one epoch, combined over all trainers of the group.
#pragma once

#include <span>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/communicator/group.h"
#include "flotilla/report/summary.h"
#include "flotilla/tensor/metric_spec.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// Replaces rows, trained, batches, skipped, dropped, counts of bad batches, loss, weight, metrics
// and hints of *report by those of all trainers, and texts about bad batches by the first of all;
// seconds become those of the slowest, and step the last that any trainer has seen, since trainers
// that ended earlier do not know it. Stage times and samples of bad rows stay those of this
// trainer. The result has the same bits in every
// trainer. Collective: every trainer calls it with the same name.
Status SumReports(std::string_view name, std::span<const MetricSpec> metrics, Group& group,
                  Report* report);

// The same of reports of parts of an epoch in one process, without step, counts of bad rows and
// values of metrics: what a resumed epoch continues from (Trainer::ResumeEpoch). Times are added.
// The limit of bad batches is one of each trainer, so it continues from the part that has most.
// An error if their metric states are not of `metrics`.
StatusOr<Report> MergeReports(std::span<const MetricSpec> metrics, std::span<const Report> parts);

// Combines *summary over all trainers: workers, rows and stage times are added, seconds are those
// of the slowest; texts about bad batches become the first of all trainers, samples of bad rows
// stay those of this one. Collective, like SumReports.
Status SumSummaries(std::string_view name, Group& group, RunSummary* summary);

}  // namespace flotilla
