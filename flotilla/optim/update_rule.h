// An update rule updates one row of weights, given its gradient: the same code runs on sparse rows,
// on blocks of dense parameters, in one process and on servers.
//
// To add an optimizer: write name.h/.cc with a subclass and a function that creates its
// OptimizerSpec, a test next to it, and its include and its entry in optimizers.h
// (docs/add_optimizer.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/kernels/update.h"
#include "flotilla/tensor/optimizer_spec.h"

namespace flotilla {

// Parameters of one update. `rate` includes the schedule and the factor of the parameter.
struct UpdateContext {
  float rate = 0;
  // The table's global step, counted from 1: Adam's bias correction uses it.
  int64_t step = 1;
  kernels::DecayTerms decay;
};

// The gradient including weight decay: g + l2 w + l1 sign(w), where sign(0) is 0. For rules whose
// loop is not a kernel.
inline float WithDecay(const kernels::DecayTerms& decay, float g, float w) {
  const float sign = static_cast<float>((w > 0) - (w < 0));
  return g + decay.l2 * w + decay.l1 * sign;
}

// How an update depends on its gradient, for code that merges gradients or updates rows itself.
enum class UpdateForm {
  kPlain,   // w -= rate g, and no state
  kLinear,  // linear in the gradients: g1 followed by g2 has the same effect as g1 + g2 at once
  kOther,
};

// Thread-safe: const after construction.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  virtual UpdateForm form() const { return UpdateForm::kOther; }

  // Number of state arrays, each as long as the weights, that the rule keeps.
  virtual int states() const = 0;

  // Fills the state of a new row: states() * n floats. Zeros unless a rule overrides it.
  virtual void InitState(int64_t n, float* state) const;

  // One update of n weights. state holds states() arrays of n floats, one after the other; g is not
  // changed. REQUIRES: context.step >= 1.
  virtual void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
                     float* state) const = 0;

  // Like Apply for many rows, each a block [weights dim][state ..]; grads is (rows.size(), dim).
  // REQUIRES: rows are distinct. Rules that are used on large tables override it with one kernel.
  virtual void ApplyRows(const UpdateContext& context, int64_t dim, const float* grads,
                         std::span<float* const> rows) const;
};

// Creates the rule that `spec` names, or returns an error that names the unknown optimizer or
// parameter and lists the known ones. The whole spec is checked: a value out of range, a bad
// schedule (CheckSchedule), a negative decay or a clip limit of zero is an error too.
StatusOr<std::unique_ptr<UpdateRule>> MakeUpdateRule(const OptimizerSpec& spec);

// The names of all optimizers, "sgd, momentum, ..", for help texts and errors.
std::string OptimizerNames();

// The form of the rule that `spec` names; the same errors.
StatusOr<UpdateForm> FormOf(const OptimizerSpec& spec);

// Returns an error that starts with `owner` unless the decay terms are finite and not negative.
Status CheckDecay(std::string_view owner, const Decay& decay);

// Statistics (ParameterSpec::moving_average_keep): w = keep w + (1 - keep) g. No state, no rate.
// REQUIRES: 0 <= keep <= 1.
std::unique_ptr<UpdateRule> MakeMovingAverageRule(double keep);

}  // namespace flotilla
