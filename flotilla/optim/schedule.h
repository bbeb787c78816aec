// Learning rates as functions of the global step (the number of applied rounds in sync mode, of
// batches of all trainers otherwise), so that no code has to divide by the number of trainers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/optimizer_spec.h"

namespace flotilla {

// Functions that create specs. Steps count from 0. They do not validate; CheckSchedule does.
ScheduleSpec ConstantRate(double rate);
// rate * decay_rate ^ (step / decay_steps), the quotient floored when staircase.
ScheduleSpec ExponentialDecay(double rate, int64_t decay_steps, double decay_rate,
                              bool staircase = false);
// rate * exp(-decay_rate * step / decay_steps), the quotient floored when staircase.
ScheduleSpec NaturalExponentialDecay(double rate, int64_t decay_steps, double decay_rate,
                                     bool staircase = false);
// rate / (1 + decay_rate * step / decay_steps), the quotient floored when staircase.
ScheduleSpec InverseTimeDecay(double rate, int64_t decay_steps, double decay_rate,
                              bool staircase = false);
// (rate - end) * (1 - min(step, decay_steps) / decay_steps) ^ power + end. With cycle, decay_steps
// grows to the next multiple that is not below step.
ScheduleSpec PolynomialDecay(double rate, int64_t decay_steps, double end = 1e-4, double power = 1,
                             bool cycle = false);
// values[i] while step < boundaries[i], then the last value. CheckSchedule requires ascending
// boundaries and one more value than boundaries.
ScheduleSpec PiecewiseDecay(std::vector<double> boundaries, std::vector<double> values);
// rate * (1 + cos(pi * min(step, total_steps) / total_steps)) / 2
ScheduleSpec CosineDecay(double rate, int64_t total_steps);
// `then`, but the first warmup_steps rise linearly: start + (end - start) * step / warmup_steps.
// After them `then` continues at the global step, as if it had run from step 0. A schedule has one
// warm-up: a second call replaces the first.
//
// Encoding: the spec is `then` itself with three additional parameters, "warmup_steps",
// "warmup_start" and "warmup_end"; any schedule may carry them, all three or none.
ScheduleSpec LinearWarmup(ScheduleSpec then, int64_t warmup_steps, double start, double end);
// `before`, but from step `start` on times a factor that falls linearly from 1 to `last` at step
// `end` and stays there. A schedule has one cool-down: a second call replaces the first. A run that
// ends with one ends near the mean of its last steps, not at the last of them.
//
// Encoding: as the warm-up, "cooldown_start", "cooldown_end" and "cooldown_last".
ScheduleSpec LinearCooldown(ScheduleSpec before, int64_t start, int64_t end, double last);
// `whole`, but within every period of steps only `part` of the way to the next period's first rate
// is gone, and the rest in one jump: for threads that each count their own part of an epoch as if
// it were the whole one. A schedule has one such period: a second call replaces the first.
//
// Encoding: as the warm-up, "period_steps" and "period_part".
ScheduleSpec SlowWithinPeriods(ScheduleSpec whole, int64_t period_steps, double part);

// A learning rate as an argument: a schedule, or a number for a constant rate.
struct Rate {
  Rate(double rate) : schedule(ConstantRate(rate)) {}                 // NOLINT: implicit
  Rate(ScheduleSpec a_schedule) : schedule(std::move(a_schedule)) {}  // NOLINT: implicit
  ScheduleSpec schedule;
};

// Returns an error if the spec is invalid: an unknown name, a missing or unknown parameter (with
// the known names), an invalid value (negative steps, boundaries out of order).
Status CheckSchedule(const ScheduleSpec& spec);

// The rate at a step. REQUIRES: CheckSchedule(spec).ok(), step >= 0.
double LearningRate(const ScheduleSpec& spec, int64_t step);

}  // namespace flotilla
