#include "flotilla/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "flotilla/optim/param_check.h"

namespace flotilla {

namespace {

// REQUIRES: the spec is checked and has the parameter.
double Get(const ScheduleSpec& spec, const char* name) { return spec.params.find(name)->second; }

bool GetFlag(const ScheduleSpec& spec, const char* name) {
  bool flag = false;
  ReadParam(spec.params, name, flag);
  return flag;
}

// Number of decay_steps periods that have passed.
double Periods(const ScheduleSpec& spec, int64_t step) {
  const double periods = static_cast<double>(step) / Get(spec, "decay_steps");
  return GetFlag(spec, "staircase") ? std::floor(periods) : periods;
}

double Constant(const ScheduleSpec& spec, int64_t /*step*/) { return Get(spec, "rate"); }

double Exponential(const ScheduleSpec& spec, int64_t step) {
  return Get(spec, "rate") * std::pow(Get(spec, "decay_rate"), Periods(spec, step));
}

double NaturalExponential(const ScheduleSpec& spec, int64_t step) {
  return Get(spec, "rate") * std::exp(-Get(spec, "decay_rate") * Periods(spec, step));
}

double InverseTime(const ScheduleSpec& spec, int64_t step) {
  return Get(spec, "rate") / (1 + Get(spec, "decay_rate") * Periods(spec, step));
}

double Polynomial(const ScheduleSpec& spec, int64_t step) {
  double decay_steps = Get(spec, "decay_steps");
  double now = static_cast<double>(step);
  if (GetFlag(spec, "cycle")) {
    decay_steps *= std::max(1.0, std::ceil(now / decay_steps));
  } else {
    now = std::min(now, decay_steps);
  }
  const double end = Get(spec, "end");
  return (Get(spec, "rate") - end) * std::pow(1 - now / decay_steps, Get(spec, "power")) + end;
}

double Piecewise(const ScheduleSpec& spec, int64_t step) {
  const auto next =
      std::upper_bound(spec.boundaries.begin(), spec.boundaries.end(), static_cast<double>(step));
  return spec.values[next - spec.boundaries.begin()];
}

double Cosine(const ScheduleSpec& spec, int64_t step) {
  const double total = Get(spec, "total_steps");
  const double part = std::min(static_cast<double>(step), total) / total;
  return Get(spec, "rate") * (1 + std::cos(std::numbers::pi * part)) / 2;
}

struct ScheduleEntry {
  std::string_view name;
  double (*rate)(const ScheduleSpec& spec, int64_t step);
  std::vector<KnownParam> params;
};

// All schedules.
const std::vector<ScheduleEntry>& Schedules() {
  constexpr KnownParam kRate{"rate", ParamRange::kNonNegative, true};
  constexpr KnownParam kDecaySteps{"decay_steps", ParamRange::kSteps, true};
  constexpr KnownParam kDecayRate{"decay_rate", ParamRange::kNonNegative, true};
  constexpr KnownParam kStaircase{"staircase", ParamRange::kFlag};
  static const std::vector<ScheduleEntry> schedules = {
      {"constant", Constant, {kRate}},
      {"exponential", Exponential, {kRate, kDecaySteps, kDecayRate, kStaircase}},
      {"natural_exponential", NaturalExponential, {kRate, kDecaySteps, kDecayRate, kStaircase}},
      {"inverse_time", InverseTime, {kRate, kDecaySteps, kDecayRate, kStaircase}},
      {"polynomial",
       Polynomial,
       {kRate,
        kDecaySteps,
        {"end", ParamRange::kNonNegative, true},
        {"power", ParamRange::kPositive, true},
        {"cycle", ParamRange::kFlag}}},
      {"piecewise", Piecewise, {}},
      {"cosine", Cosine, {kRate, {"total_steps", ParamRange::kSteps, true}}},
  };
  return schedules;
}

const ScheduleEntry* FindSchedule(std::string_view name) {
  for (const ScheduleEntry& entry : Schedules()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::string ScheduleNames() {
  std::string names;
  for (const ScheduleEntry& entry : Schedules()) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

Status CheckPieces(const ScheduleSpec& spec) {
  if (spec.values.size() != spec.boundaries.size() + 1) {
    return InvalidArgument("schedule piecewise: {} boundaries need {} values, not {}",
                           spec.boundaries.size(), spec.boundaries.size() + 1, spec.values.size());
  }
  for (size_t i = 0; i < spec.boundaries.size(); ++i) {
    if (!InRange(ParamRange::kNonNegative, spec.boundaries[i])) {
      return InvalidArgument("schedule piecewise: boundary {} is {}, but must be {}", i,
                             spec.boundaries[i], RangeText(ParamRange::kNonNegative));
    }
    if (i > 0 && spec.boundaries[i] <= spec.boundaries[i - 1]) {
      return InvalidArgument("schedule piecewise: boundaries must ascend, but {} follows {}",
                             spec.boundaries[i], spec.boundaries[i - 1]);
    }
  }
  for (double value : spec.values) {
    if (!InRange(ParamRange::kNonNegative, value)) {
      return InvalidArgument("schedule piecewise: value {}, but rates must be {}", value,
                             RangeText(ParamRange::kNonNegative));
    }
  }
  return absl::OkStatus();
}

// Parameters that may occur in any schedule, all of them or none.
void AddTogether(const ScheduleSpec& spec, std::vector<KnownParam> group,
                 std::vector<KnownParam>* known) {
  const bool used = std::any_of(group.begin(), group.end(), [&](const KnownParam& param) {
    return spec.params.contains(std::string(param.name));
  });
  for (KnownParam& param : group) {
    param.required = used;
    known->push_back(param);
  }
}

std::vector<KnownParam> WithParamsOfAny(const ScheduleSpec& spec, std::vector<KnownParam> known) {
  AddTogether(spec,
              {{"warmup_steps", ParamRange::kStepsOrZero},
               {"warmup_start", ParamRange::kNonNegative},
               {"warmup_end", ParamRange::kNonNegative}},
              &known);
  AddTogether(spec,
              {{"cooldown_start", ParamRange::kStepsOrZero},
               {"cooldown_end", ParamRange::kSteps},
               {"cooldown_last", ParamRange::kNonNegative}},
              &known);
  AddTogether(spec,
              {{"period_steps", ParamRange::kSteps}, {"period_part", ParamRange::kNonNegative}},
              &known);
  return known;
}

double CooldownFactor(const ScheduleSpec& spec, int64_t step) {
  if (!spec.params.contains("cooldown_start")) return 1;
  const double start = Get(spec, "cooldown_start"), end = Get(spec, "cooldown_end");
  const double now = static_cast<double>(step);
  if (now < start) return 1;
  const double last = Get(spec, "cooldown_last");
  return now < end ? 1 - (1 - last) * (now - start) / (end - start) : last;
}

// The step of the schedule without its periods.
int64_t StepInPeriods(const ScheduleSpec& spec, int64_t step) {
  if (!spec.params.contains("period_steps")) return step;
  const auto period = static_cast<int64_t>(Get(spec, "period_steps"));
  const int64_t within = step % period;
  return step - within + std::llround(Get(spec, "period_part") * static_cast<double>(within));
}

ScheduleSpec Decaying(std::string name, double rate, int64_t decay_steps, double decay_rate,
                      bool staircase) {
  ScheduleSpec spec;
  spec.name = std::move(name);
  spec.params = {{"rate", rate},
                 {"decay_steps", static_cast<double>(decay_steps)},
                 {"decay_rate", decay_rate},
                 {"staircase", staircase ? 1.0 : 0.0}};
  return spec;
}

}  // namespace

ScheduleSpec ConstantRate(double rate) {
  ScheduleSpec spec;
  spec.name = "constant";
  spec.params = {{"rate", rate}};
  return spec;
}

ScheduleSpec ExponentialDecay(double rate, int64_t decay_steps, double decay_rate, bool staircase) {
  return Decaying("exponential", rate, decay_steps, decay_rate, staircase);
}

ScheduleSpec NaturalExponentialDecay(double rate, int64_t decay_steps, double decay_rate,
                                     bool staircase) {
  return Decaying("natural_exponential", rate, decay_steps, decay_rate, staircase);
}

ScheduleSpec InverseTimeDecay(double rate, int64_t decay_steps, double decay_rate, bool staircase) {
  return Decaying("inverse_time", rate, decay_steps, decay_rate, staircase);
}

ScheduleSpec PolynomialDecay(double rate, int64_t decay_steps, double end, double power,
                             bool cycle) {
  ScheduleSpec spec;
  spec.name = "polynomial";
  spec.params = {{"rate", rate},
                 {"decay_steps", static_cast<double>(decay_steps)},
                 {"end", end},
                 {"power", power},
                 {"cycle", cycle ? 1.0 : 0.0}};
  return spec;
}

ScheduleSpec PiecewiseDecay(std::vector<double> boundaries, std::vector<double> values) {
  ScheduleSpec spec;
  spec.name = "piecewise";
  spec.boundaries = std::move(boundaries);
  spec.values = std::move(values);
  return spec;
}

ScheduleSpec CosineDecay(double rate, int64_t total_steps) {
  ScheduleSpec spec;
  spec.name = "cosine";
  spec.params = {{"rate", rate}, {"total_steps", static_cast<double>(total_steps)}};
  return spec;
}

ScheduleSpec LinearWarmup(ScheduleSpec then, int64_t warmup_steps, double start, double end) {
  then.params["warmup_steps"] = static_cast<double>(warmup_steps);
  then.params["warmup_start"] = start;
  then.params["warmup_end"] = end;
  return then;
}

ScheduleSpec LinearCooldown(ScheduleSpec before, int64_t start, int64_t end, double last) {
  before.params["cooldown_start"] = static_cast<double>(start);
  before.params["cooldown_end"] = static_cast<double>(end);
  before.params["cooldown_last"] = last;
  return before;
}

ScheduleSpec SlowWithinPeriods(ScheduleSpec whole, int64_t period_steps, double part) {
  whole.params["period_steps"] = static_cast<double>(period_steps);
  whole.params["period_part"] = part;
  return whole;
}

Status CheckSchedule(const ScheduleSpec& spec) {
  const ScheduleEntry* entry = FindSchedule(spec.name);
  if (entry == nullptr) {
    return InvalidArgument("unknown learning-rate schedule '{}'; known: {}", spec.name,
                           ScheduleNames());
  }
  const std::string owner = "schedule " + spec.name;
  FL_RETURN_IF_ERROR(CheckParams(owner, spec.params, WithParamsOfAny(spec, entry->params)));
  if (spec.name == "piecewise") return CheckPieces(spec);
  if (!spec.boundaries.empty() || !spec.values.empty()) {
    return InvalidArgument("{}: boundaries and values belong to piecewise only", owner);
  }
  return absl::OkStatus();
}

double LearningRate(const ScheduleSpec& spec, int64_t global_step) {
  const int64_t step = StepInPeriods(spec, global_step);
  if (spec.params.contains("warmup_steps")) {
    const double steps = Get(spec, "warmup_steps");
    const double now = static_cast<double>(step);
    if (now < steps) {
      const double start = Get(spec, "warmup_start");
      return start + (Get(spec, "warmup_end") - start) * now / steps;
    }
  }
  return FindSchedule(spec.name)->rate(spec, step) * CooldownFactor(spec, step);
}

}  // namespace flotilla
