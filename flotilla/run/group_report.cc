#include "flotilla/run/group_report.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "flotilla/metric/metric_set.h"

namespace flotilla {
namespace {

std::string BytesOf(std::span<const double> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

std::vector<double> NumbersOf(std::string_view bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  }
  return numbers;
}

// States of metrics cannot be added element by element: trainer 0 merges the states of all
// trainers, in order, and sends the result to the others.
StatusOr<MetricSet> MergedMetrics(std::string_view name, std::span<const MetricSpec> metrics,
                                  Group& group, std::span<const double> own) {
  FL_ASSIGN_OR_RETURN(MetricSet all, MetricSet::Make(metrics));
  std::vector<std::string> states(group.trainers());
  states[0] = BytesOf(own);
  FL_ASSIGN_OR_RETURN(states, group.Exchange(name, std::move(states)));
  std::string merged;
  if (group.trainer() == 0) {
    for (size_t t = 0; t < states.size(); ++t) {
      if (states[t].empty()) continue;  // the trainer has left
      FL_RETURN_IF_ERROR(
          Annotate(all.MergeState(NumbersOf(states[t])), fmt::format("trainer {}", t)));
    }
    merged = BytesOf(all.State());
  }
  FL_ASSIGN_OR_RETURN(merged, group.Broadcast(name, merged, 0));
  if (group.trainer() != 0) FL_RETURN_IF_ERROR(all.MergeState(NumbersOf(merged)));
  return all;
}

// Replaces the texts of this trainer by the first ones in the order of trainers. Collective.
Status GatherTexts(std::string_view name, Group& group, std::vector<std::string>* texts) {
  constexpr char kEnd = '\0';
  std::string own;
  for (const std::string& text : *texts) own += text + kEnd;
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> all,
                      group.Gather(fmt::format("{}, bad batches", name), own));
  texts->clear();
  for (const std::string& blob : all) {
    for (size_t begin = 0; begin < blob.size() && texts->size() < kBadBatchTexts;) {
      const size_t end = std::min(blob.find(kEnd, begin), blob.size());
      texts->push_back(blob.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return absl::OkStatus();
}

}  // namespace

Status SumReports(std::string_view name, std::span<const MetricSpec> metrics, Group& group,
                  Report* report) {
  if (group.trainers() == 1) return absl::OkStatus();
  const auto number = [](int64_t count) { return static_cast<double>(count); };
  std::vector<double> sums = {number(report->rows),
                              number(report->batches),
                              number(report->skipped),
                              number(report->dropped),
                              report->loss * report->loss_weight(),
                              number(report->trained),
                              report->weight,
                              number(report->bad_batches),
                              number(report->bad_batch_rows)};
  const size_t figures = sums.size();
  // Each trainer writes its seconds and step to its own elements, so the sum over the group
  // contains the values of all trainers.
  const auto trainers = static_cast<size_t>(group.trainers());
  const size_t steps = figures + trainers;
  sums.resize(steps + trainers, 0);
  sums[figures + static_cast<size_t>(group.trainer())] = report->seconds;
  sums[steps + static_cast<size_t>(group.trainer())] = number(report->step);
  FL_RETURN_IF_ERROR(group.Sum(name, sums));

  report->rows = static_cast<int64_t>(sums[0]);
  report->batches = static_cast<int64_t>(sums[1]);
  report->skipped = static_cast<int64_t>(sums[2]);
  report->dropped = static_cast<int64_t>(sums[3]);
  report->trained = static_cast<int64_t>(sums[5]);
  report->weight = sums[6];
  report->bad_batches = static_cast<int64_t>(sums[7]);
  report->bad_batch_rows = static_cast<int64_t>(sums[8]);
  report->loss = report->trained > 0 ? sums[4] / report->loss_weight() : 0;
  const auto largest = [&](size_t begin) {
    return std::ranges::max(std::span<const double>(sums).subspan(begin, trainers));
  };
  report->seconds = largest(figures);
  report->step = static_cast<int64_t>(largest(steps));
  FL_ASSIGN_OR_RETURN(const MetricSet all,
                      MergedMetrics(name, metrics, group, report->metric_state));
  report->metric_state = all.State();
  report->metrics = all.Values();
  report->metric_details = all.Details();
  report->hints = all.Hints();
  if (report->bad_batches == 0) return absl::OkStatus();
  return GatherTexts(name, group, &report->bad_batch_texts);
}

StatusOr<Report> MergeReports(std::span<const MetricSpec> metrics, std::span<const Report> parts) {
  if (parts.size() == 1) return parts[0];
  FL_ASSIGN_OR_RETURN(MetricSet merged, MetricSet::Make(metrics));
  Report all;
  for (const Report& part : parts) {
    all.rows += part.rows;
    all.trained += part.trained;
    all.batches += part.batches;
    all.weight += part.weight;
    all.bad_batches += part.bad_batches;
    all.limited_bad_batches = std::max(all.limited_bad_batches, part.limited_bad_batches);
    all.bad_batch_rows += part.bad_batch_rows;
    if (part.trained > 0) all.loss += part.loss * part.loss_weight();
    all.seconds = std::max(all.seconds, part.seconds);
    all.times.Add(part.times);
    if (!part.metric_state.empty()) FL_RETURN_IF_ERROR(merged.MergeState(part.metric_state));
  }
  if (all.trained > 0) all.loss /= all.loss_weight();
  if (!parts.empty()) all.metric_state = merged.State();
  return all;
}

Status SumSummaries(std::string_view name, Group& group, RunSummary* summary) {
  if (group.trainers() == 1) return absl::OkStatus();
  int64_t* const counts[] = {&summary->read,       &summary->trained,     &summary->skipped,
                             &summary->dropped,    &summary->bad_batches, &summary->bad_batch_rows,
                             &summary->times.read, &summary->times.pull,  &summary->times.compute,
                             &summary->times.push, &summary->times.wait};
  double* const seconds[] = {&summary->load_seconds, &summary->train_seconds,
                             &summary->test_seconds, &summary->save_seconds};
  std::vector<double> sums = {static_cast<double>(summary->workers)};
  for (const int64_t* count : counts) sums.push_back(static_cast<double>(*count));
  // Each trainer writes its seconds to its own elements, so the sum over the group contains the
  // values of all trainers.
  const size_t figures = sums.size(), trainers = static_cast<size_t>(group.trainers());
  sums.resize(figures + trainers * std::size(seconds), 0);
  for (size_t s = 0; s < std::size(seconds); ++s) {
    sums[figures + s * trainers + static_cast<size_t>(group.trainer())] = *seconds[s];
  }
  FL_RETURN_IF_ERROR(group.Sum(name, sums));

  summary->trainers = group.trainers();
  summary->workers = static_cast<int>(sums[0]);
  for (size_t c = 0; c < std::size(counts); ++c) *counts[c] = static_cast<int64_t>(sums[1 + c]);
  for (size_t s = 0; s < std::size(seconds); ++s) {
    const auto of_trainers = sums.begin() + static_cast<std::ptrdiff_t>(figures + s * trainers);
    *seconds[s] = *std::max_element(of_trainers, of_trainers + group.trainers());
  }
  if (summary->bad_batches == 0) return absl::OkStatus();
  return GatherTexts(name, group, &summary->bad_batch_texts);
}

}  // namespace flotilla
