#include "flotilla/optim/update_rule.h"

#include <algorithm>
#include <string>
#include <vector>

#include "flotilla/optim/gradient_clip.h"
#include "flotilla/optim/optimizers.h"
#include "flotilla/optim/param_check.h"
#include "flotilla/optim/rule_entry.h"
#include "flotilla/optim/schedule.h"

namespace flotilla {

namespace {

const std::vector<RuleEntry>& Rules() {
  static const std::vector<RuleEntry> rules = OptimizerEntries();
  return rules;
}

class MovingAverageRule final : public UpdateRule {
 public:
  explicit MovingAverageRule(double keep)
      : keep_(static_cast<float>(keep)), take_(static_cast<float>(1 - keep)) {}

  int states() const override { return 0; }

  void Apply(const UpdateContext& /*context*/, int64_t n, const float* g, float* w,
             float* /*state*/) const override {
    for (int64_t i = 0; i < n; ++i) w[i] = keep_ * w[i] + take_ * g[i];
  }

 private:
  const float keep_;
  const float take_;
};

}  // namespace

void UpdateRule::InitState(int64_t n, float* state) const {
  std::fill_n(state, states() * n, 0.0f);
}

void UpdateRule::ApplyRows(const UpdateContext& context, int64_t dim, const float* grads,
                           std::span<float* const> rows) const {
  for (size_t i = 0; i < rows.size(); ++i) {
    Apply(context, dim, grads + static_cast<int64_t>(i) * dim, rows[i], rows[i] + dim);
  }
}

std::string OptimizerNames() {
  std::string names;
  for (const RuleEntry& rule : Rules()) {
    if (!names.empty()) names += ", ";
    names += rule.name;
  }
  return names;
}

StatusOr<std::unique_ptr<UpdateRule>> MakeUpdateRule(const OptimizerSpec& spec) {
  const std::vector<RuleEntry>& rules = Rules();
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const RuleEntry& entry) { return entry.name == spec.name; });
  if (rule == rules.end()) {
    return InvalidArgument("unknown optimizer '{}'; known: {}", spec.name, OptimizerNames());
  }
  const std::string owner = "optimizer " + spec.name;
  FL_RETURN_IF_ERROR(CheckParams(owner, spec.params, rule->params));
  FL_RETURN_IF_ERROR(Annotate(CheckSchedule(spec.learning_rate), owner));
  FL_RETURN_IF_ERROR(CheckDecay(owner, spec.decay));
  FL_RETURN_IF_ERROR(Annotate(CheckClip(spec.clip), owner));
  return rule->make(spec.params);
}

StatusOr<UpdateForm> FormOf(const OptimizerSpec& spec) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<UpdateRule> rule, MakeUpdateRule(spec));
  return rule->form();
}

Status CheckDecay(std::string_view owner, const Decay& decay) {
  constexpr KnownParam kKnown[] = {{"l1", ParamRange::kNonNegative},
                                   {"l2", ParamRange::kNonNegative}};
  return CheckParams(fmt::format("{}: weight decay", owner), {{"l1", decay.l1}, {"l2", decay.l2}},
                     kKnown);
}

std::unique_ptr<UpdateRule> MakeMovingAverageRule(double keep) {
  return std::make_unique<MovingAverageRule>(keep);
}

}  // namespace flotilla
