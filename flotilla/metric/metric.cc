#include "flotilla/metric/metric.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "flotilla/metric/accuracy.h"
#include "flotilla/metric/auc.h"
#include "flotilla/metric/calibration.h"
#include "flotilla/metric/gauc.h"
#include "flotilla/metric/logloss.h"
#include "flotilla/metric/mae.h"
#include "flotilla/metric/mean.h"
#include "flotilla/metric/ne.h"
#include "flotilla/metric/rmse.h"

namespace flotilla {

namespace {

// A parameter is a whole number in [least, most].
struct KnownParam {
  std::string_view name;
  double otherwise;
  double least;
  double most;
};

struct MetricEntry {
  std::string_view kind;
  size_t vars;
  std::vector<KnownParam> params;
  // `values` are in the order of `params`, checked.
  std::unique_ptr<Metric> (*make)(const std::vector<int>& values);
  bool groups = false;  // reads MetricSpec::group
};

// For metrics without parameters.
template <typename Meter>
std::unique_ptr<Metric> Make(const std::vector<int>& /*values*/) {
  return std::make_unique<Meter>();
}

std::unique_ptr<Metric> MakeAuc(const std::vector<int>& values) {
  return std::make_unique<AucMeter>(values[0], values[1]);
}

std::unique_ptr<Metric> MakeGauc(const std::vector<int>& values) {
  return std::make_unique<GaucMeter>(values[0]);
}

std::unique_ptr<Metric> MakeMean(const std::vector<int>& values) {
  return std::make_unique<MeanMeter>(values[0] != 0);
}

// All metrics.
const std::vector<MetricEntry>& Metrics() {
  constexpr KnownParam kNumThresholds{"num_thresholds", 0, 1, 1 << 24};
  constexpr KnownParam kSlideSteps{"slide_steps", 20, 0, 1 << 20};
  constexpr KnownParam kMaxRows{"max_rows", kGaucMaxRows, 1, 1 << 28};
  constexpr KnownParam kIsBatchMean{"is_batch_mean", 0, 0, 1};
  static const std::vector<MetricEntry> metrics = {
      {"auc", 2, {kNumThresholds, kSlideSteps}, MakeAuc},
      {"accuracy", 2, {}, Make<AccuracyMeter>},
      {"logloss", 2, {}, Make<LogLossMeter>},
      {"calibration", 2, {}, Make<CalibrationMeter>},
      {"gauc", 2, {kMaxRows}, MakeGauc, /*groups=*/true},
      {"ne", 2, {}, Make<NeMeter>},
      {"rmse", 2, {}, Make<RmseMeter>},
      {"mae", 2, {}, Make<MaeMeter>},
      {"mean", 1, {kIsBatchMean}, MakeMean},
  };
  return metrics;
}

// The name of each item (its `kind` or `name`), for errors.
template <typename Item>
std::string Names(const std::vector<Item>& items, std::string_view Item::*name) {
  std::string names;
  for (const Item& item : items) {
    if (!names.empty()) names += ", ";
    names += item.*name;
  }
  return names.empty() ? "none" : names;
}

Status CheckVars(const MetricSpec& spec, const MetricEntry& entry) {
  if (spec.vars.size() != entry.vars) {
    return InvalidArgument("metric {} ({}): reads {} values of the graph, not {}", spec.name,
                           spec.kind, entry.vars, spec.vars.size());
  }
  if (entry.groups != (spec.group >= 0)) {
    return InvalidArgument(
        "metric {} ({}): {}", spec.name, spec.kind,
        entry.groups ? "needs the ids that group its rows" : "does not read groups of rows");
  }
  for (int var : spec.vars) {
    if (var < 0) return InvalidArgument("metric {} ({}): value {} < 0", spec.name, spec.kind, var);
  }
  return absl::OkStatus();
}

StatusOr<std::vector<int>> CheckedValues(const MetricSpec& spec,
                                         const std::vector<KnownParam>& known) {
  std::vector<int> values;
  for (const KnownParam& param : known) values.push_back(static_cast<int>(param.otherwise));
  for (const auto& [name, value] : spec.params) {
    const auto param = std::find_if(known.begin(), known.end(),
                                    [&n = name](const KnownParam& k) { return k.name == n; });
    if (param == known.end()) {
      return InvalidArgument("metric {} ({}): unknown parameter '{}'; known: {}", spec.name,
                             spec.kind, name, Names(known, &KnownParam::name));
    }
    if (!(value >= param->least && value <= param->most) || value != std::floor(value)) {
      return InvalidArgument("metric {} ({}): {} is {}, but must be a whole number from {} to {}",
                             spec.name, spec.kind, name, value, param->least, param->most);
    }
    values[param - known.begin()] = static_cast<int>(value);
  }
  return values;
}

}  // namespace

StatusOr<std::unique_ptr<Metric>> MakeMetric(const MetricSpec& spec) {
  const std::vector<MetricEntry>& metrics = Metrics();
  const auto entry = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const MetricEntry& m) { return m.kind == spec.kind; });
  if (entry == metrics.end()) {
    return InvalidArgument("metric {}: unknown kind '{}'; known: {}", spec.name, spec.kind,
                           Names(metrics, &MetricEntry::kind));
  }
  FL_RETURN_IF_ERROR(CheckVars(spec, *entry));
  FL_ASSIGN_OR_RETURN(const std::vector<int> values, CheckedValues(spec, entry->params));
  return entry->make(values);
}

}  // namespace flotilla
