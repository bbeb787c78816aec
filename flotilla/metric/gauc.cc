#include "flotilla/metric/gauc.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "flotilla/base/hash.h"
#include "flotilla/metric/score_counts.h"

namespace flotilla {
namespace {

constexpr int kMaxDroppedBits = 63;
// Rows of a state that is shown while an epoch runs.
constexpr size_t kLiveRows = size_t{1} << 14;
constexpr double kMaxHalf = 4294967295;  // of a group's id

}  // namespace

MetricSpec GaucSpec(int predict, int label, int group, int max_rows) {
  return {.name = "gauc",
          .kind = "gauc",
          .vars = {predict, label},
          .params = {{"max_rows", max_rows}},
          .group = group};
}

bool GaucMeter::Keeps(uint64_t group) const {
  return std::countr_zero(Mix64(group)) >= dropped_bits_;
}

void GaucMeter::Append(const Row& row) {
  if (!Keeps(row.group)) return;
  rows_.push_back(row);
  sorted_ = false;
  if (rows_.size() > max_rows_) Shrink();
}

// A group with more than max_rows_ rows is dropped in the end like any other.
void GaucMeter::Shrink() {
  while (rows_.size() > max_rows_ && dropped_bits_ < kMaxDroppedBits) {
    ++dropped_bits_;
    std::erase_if(rows_, [this](const Row& row) { return !Keeps(row.group); });
  }
}

void GaucMeter::Add(const MetricBatch& batch) {
  const FetchedValue& predict = batch.inputs[0];
  const FetchedValue& label = batch.inputs[1];
  batch.ForEachRow([&](int64_t i, double weight) {
    const float score = predict.values[(i + 1) * predict.row_size - 1];
    const float click = label.values[i * label.row_size];
    if (std::isnan(score) || std::isnan(click) || !IsMetricWeight(weight)) {
      ++broken_;
      return;
    }
    const std::span<const uint64_t> group = batch.groups.row_ids(i);
    if (group.empty()) {
      ++without_group_;
      return;
    }
    Append({.group = group[0],
            .row = ScoreCounts::Row(ScoreKey(score), click > 0.5f),
            .weight = static_cast<float>(weight)});
  });
}

void GaucMeter::SortRows() const {
  if (sorted_) return;
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    return std::tie(a.group, a.row, a.weight) < std::tie(b.group, b.row, b.weight);
  });
  sorted_ = true;
}

GaucMeter::Totals GaucMeter::Count() const {
  SortRows();
  Totals totals;
  totals.rows_left_out = static_cast<int64_t>(without_group_);
  for (size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
    RankedPairs pairs;
    for (end = begin; end < rows_.size() && rows_[end].group == rows_[begin].group; ++end) {
      pairs.Add(rows_[end].row, rows_[end].weight);
    }
    if (!pairs.has_both_classes()) {
      ++totals.groups_left_out;
      totals.rows_left_out += static_cast<int64_t>(end - begin);
      continue;
    }
    ++totals.groups;
    totals.area += pairs.Area() * pairs.weight();
    totals.weight += pairs.weight();
  }
  return totals;
}

double GaucMeter::Value() const {
  if (broken_ > 0) return NAN;
  const Totals totals = Count();
  return totals.groups == 0 ? NAN : totals.area / totals.weight;
}

MetricValues GaucMeter::Details() const {
  const Totals totals = Count();
  return {{"groups", static_cast<double>(totals.groups)},
          {"groups_left_out", static_cast<double>(totals.groups_left_out)},
          {"rows_left_out", static_cast<double>(totals.rows_left_out)},
          {"sample", std::ldexp(1, -dropped_bits_)}};
}

std::string GaucMeter::Hint() const {
  if (broken_ > 0) return fmt::format("{} rows have a score or label that is NaN", broken_);
  const Totals totals = Count();
  if (totals.groups > 0) return {};
  if (dropped_bits_ > 0) {
    return fmt::format(
        "more than {} rows are in a few groups, too many to keep: check that the group is the id "
        "of a user or a request",
        max_rows_);
  }
  if (totals.groups_left_out == 0) {
    return fmt::format("none of {} rows has a group", without_group_);
  }
  return fmt::format(
      "each of {} groups has rows of one class only: check that the group is the id of a user or a "
      "request, and that its rows are together",
      totals.groups_left_out);
}

// Broken rows, rows without a group, dropped bits, whether there are weights; then for each group
// the upper and the lower half of its id, the number of its rows, these rows, and their weights if
// there are any.
std::vector<double> GaucMeter::State() const {
  SortRows();
  const bool weighted =
      std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.weight != 1; });
  std::vector<double> state = {static_cast<double>(broken_), static_cast<double>(without_group_),
                               static_cast<double>(dropped_bits_), weighted ? 1.0 : 0.0};
  for (size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
    const uint64_t group = rows_[begin].group;
    while (end < rows_.size() && rows_[end].group == group) ++end;
    state.push_back(static_cast<double>(group >> 32));
    state.push_back(static_cast<double>(group & 0xFFFFFFFF));
    state.push_back(static_cast<double>(end - begin));
    for (size_t i = begin; i < end; ++i) state.push_back(rows_[i].row);
    if (!weighted) continue;
    for (size_t i = begin; i < end; ++i) state.push_back(rows_[i].weight);
  }
  return state;
}

std::vector<double> GaucMeter::LiveState() const {
  if (rows_.size() <= kLiveRows) return State();
  GaucMeter sample(static_cast<int>(max_rows_));
  sample.broken_ = broken_;
  sample.without_group_ = without_group_;
  sample.dropped_bits_ =
      std::min(kMaxDroppedBits,
               dropped_bits_ + static_cast<int>(std::bit_width((rows_.size() - 1) / kLiveRows)));
  for (const Row& row : rows_) sample.Append(row);
  return sample.State();
}

Status GaucMeter::Merge(std::span<const double> state) {
  if (state.size() < 4) return InvalidArgument("gauc: the state has only {} numbers", state.size());
  if (!IsMetricCount(state[2], kMaxDroppedBits) || !IsMetricCount(state[3], 1)) {
    return InvalidArgument("gauc: the state has {} dropped bits and {} for weights", state[2],
                           state[3]);
  }
  FL_RETURN_IF_ERROR(AddMetricCount(state[0], &broken_));
  FL_RETURN_IF_ERROR(AddMetricCount(state[1], &without_group_));
  if (const int dropped = static_cast<int>(state[2]); dropped > dropped_bits_) {
    dropped_bits_ = dropped;
    std::erase_if(rows_, [this](const Row& row) { return !Keeps(row.group); });
  }
  const bool weighted = state[3] == 1;
  state = state.subspan(4);
  while (!state.empty()) {
    const size_t per_row = weighted ? 2 : 1;
    if (state.size() < 3 || !IsMetricCount(state[0], kMaxHalf) ||
        !IsMetricCount(state[1], kMaxHalf) ||
        !IsMetricCount(state[2], static_cast<double>((state.size() - 3) / per_row))) {
      return InvalidArgument("gauc: the state of a group is truncated or out of range");
    }
    const uint64_t group = static_cast<uint64_t>(state[0]) << 32 | static_cast<uint64_t>(state[1]);
    const auto count = static_cast<size_t>(state[2]);
    const auto rows = state.subspan(3, count);
    const auto weights = state.subspan(3 + count, weighted ? count : 0);
    for (size_t i = 0; i < count; ++i) {
      const double weight = weighted ? weights[i] : 1;
      if (!IsMetricCount(rows[i], ScoreCounts::kNoRow - 1) ||
          !(weight >= 0 && weight <= std::numeric_limits<float>::max())) {
        return InvalidArgument("gauc: row {} of weight {} is out of range", rows[i], weight);
      }
      Append({.group = group,
              .row = static_cast<uint32_t>(rows[i]),
              .weight = static_cast<float>(weight)});
    }
    state = state.subspan(3 + count * per_row);
  }
  return absl::OkStatus();
}

void GaucMeter::Reset() {
  dropped_bits_ = 0;
  broken_ = without_group_ = 0;
  rows_.clear();
  sorted_ = true;
}

}  // namespace flotilla
