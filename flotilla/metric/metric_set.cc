#include "flotilla/metric/metric_set.h"

#include <algorithm>

namespace flotilla {

std::vector<int> MetricSet::Fetches(std::span<const MetricSpec> specs) {
  std::vector<int> fetches;
  const auto add = [&fetches](int var) {
    if (var < 0 || std::find(fetches.begin(), fetches.end(), var) != fetches.end()) return;
    fetches.push_back(var);
  };
  for (const MetricSpec& spec : specs) {
    for (int var : spec.vars) add(var);
    add(spec.weight);
    add(spec.group);
  }
  return fetches;
}

StatusOr<MetricSet> MetricSet::Make(std::span<const MetricSpec> specs) {
  return Make(specs, Fetches(specs));
}

StatusOr<MetricSet> MetricSet::Make(std::span<const MetricSpec> specs,
                                    std::span<const int> fetches) {
  MetricSet set;
  const auto place_of = [&fetches](int var) {
    if (var < 0) return -1;
    const auto place = std::find(fetches.begin(), fetches.end(), var);
    FL_CHECK(place != fetches.end());
    return static_cast<int>(place - fetches.begin());
  };
  for (const MetricSpec& spec : specs) {
    Entry entry{.name = spec.name, .inputs = {}, .metric = nullptr};
    auto metric = MakeMetric(spec);
    if (!metric.ok()) return Annotate(metric.status(), fmt::format("metric {}", spec.name));
    entry.metric = *std::move(metric);
    for (int var : spec.vars) entry.inputs.push_back(place_of(var));
    entry.weight = place_of(spec.weight);
    entry.group = place_of(spec.group);
    set.entries_.push_back(std::move(entry));
  }
  return set;
}

void MetricSet::Add(int64_t rows, std::span<const FetchedValue> fetched) {
  for (Entry& entry : entries_) {
    inputs_.clear();
    for (int place : entry.inputs) inputs_.push_back(fetched[place]);
    MetricBatch batch{.rows = rows, .inputs = inputs_};
    if (entry.weight >= 0) batch.weights = fetched[entry.weight].values;
    if (entry.group >= 0) batch.groups = fetched[entry.group];
    entry.metric->Add(batch);
  }
}

void MetricSet::Merge(const MetricSet& other) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    FL_CHECK(entries_[i].metric->Merge(other.entries_[i].metric->State()).ok());
  }
}

void MetricSet::MergeLive(const MetricSet& other) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    FL_CHECK(entries_[i].metric->Merge(other.entries_[i].metric->LiveState()).ok());
  }
}

void MetricSet::Reset() {
  for (Entry& entry : entries_) entry.metric->Reset();
}

const Metric* MetricSet::Find(const std::string& name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return at == entries_.end() ? nullptr : at->metric.get();
}

const CalibrationMeter* MetricSet::FindCalibration() const {
  for (const Entry& entry : entries_) {
    const auto* found = dynamic_cast<const CalibrationMeter*>(entry.metric.get());
    if (found != nullptr) return found;
  }
  return nullptr;
}

std::vector<double> MetricSet::State() const {
  std::vector<double> all;
  for (const Entry& entry : entries_) {
    const std::vector<double> state = entry.metric->State();
    all.push_back(static_cast<double>(state.size()));
    all.insert(all.end(), state.begin(), state.end());
  }
  return all;
}

Status MetricSet::MergeState(std::span<const double> state) {
  for (Entry& entry : entries_) {
    if (state.empty() || !(state[0] >= 0 && state[0] < static_cast<double>(state.size()))) {
      return InvalidArgument("metric {}: the state is truncated", entry.name);
    }
    const auto size = static_cast<size_t>(state[0]);
    FL_RETURN_IF_ERROR(Annotate(entry.metric->Merge(state.subspan(1, size)),
                                fmt::format("metric {}", entry.name)));
    state = state.subspan(1 + size);
  }
  if (!state.empty()) return InvalidArgument("states of metrics: {} extra numbers", state.size());
  return absl::OkStatus();
}

MetricValues MetricSet::Values() const {
  MetricValues values;
  for (const Entry& entry : entries_) values.emplace_back(entry.name, entry.metric->Value());
  return values;
}

MetricValues MetricSet::WindowValues() const {
  MetricValues values;
  for (const Entry& entry : entries_) {
    if (entry.metric->has_window()) values.emplace_back(entry.name, entry.metric->WindowValue());
  }
  return values;
}

MetricValues MetricSet::Details() const {
  MetricValues values;
  for (const Entry& entry : entries_) {
    for (const auto& [name, value] : entry.metric->Details()) {
      values.emplace_back(fmt::format("{}_{}", entry.name, name), value);
    }
  }
  return values;
}

std::vector<std::string> MetricSet::Hints() const {
  std::vector<std::string> hints;
  for (const Entry& entry : entries_) {
    const std::string hint = entry.metric->Hint();
    if (hint.empty()) continue;
    hints.push_back(fmt::format("{} is {:.4f}: {}", entry.name, entry.metric->Value(), hint));
  }
  return hints;
}

}  // namespace flotilla
