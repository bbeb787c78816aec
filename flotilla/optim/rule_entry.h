// What an optimizer registers in the table of optimizers.h: its name, its parameters and how its
// rule is made. A parameter is declared once, as a member of the optimizer's options; the spec, the
// check of a spec and the options of a rule all follow from that declaration.
//
//   constexpr RuleParam<NameOptions> kParams[] = {
//       {"epsilon", &NameOptions::epsilon, ParamRange::kPositive}};
//   OptimizerSpec Name(Rate rate, NameOptions options) {
//     return SpecWith("name", std::move(rate), options, kParams);
//   }
//   RuleEntry NameEntry() { return EntryOf<NameRule>("name", kParams); }
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "flotilla/optim/param_check.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

struct RuleEntry {
  std::string_view name;
  std::vector<KnownParam> params;
  // REQUIRES: the params are checked. A parameter that is absent has the default of the options.
  std::function<std::unique_ptr<UpdateRule>(const ParamMap& params)> make;
};

template <typename Options>
struct RuleParam {
  std::string_view name;  // in OptimizerSpec::params
  std::variant<double Options::*, bool Options::*> member;
  ParamRange range;
};

// The spec of the optimizer `name` with these options.
template <typename Options>
OptimizerSpec SpecWith(std::string_view name, Rate rate, const Options& options,
                       std::span<const RuleParam<std::type_identity_t<Options>>> params) {
  OptimizerSpec spec;
  spec.name = name;
  spec.learning_rate = std::move(rate.schedule);
  for (const RuleParam<Options>& param : params) {
    spec.params[std::string(param.name)] =
        std::visit([&](auto member) { return static_cast<double>(options.*member); }, param.member);
  }
  return spec;
}

// The entry of an optimizer whose Rule is made from Options, and whose `params` have static
// lifetime.
template <typename Rule, typename Options, size_t n>
RuleEntry EntryOf(std::string_view name, const RuleParam<Options> (&params)[n]) {
  RuleEntry entry{.name = name};
  for (const RuleParam<Options>& param : params) entry.params.push_back({param.name, param.range});
  entry.make = [known = std::span(params)](const ParamMap& given) -> std::unique_ptr<UpdateRule> {
    Options options;
    for (const RuleParam<Options>& param : known) {
      std::visit([&](auto member) { ReadParam(given, std::string(param.name), options.*member); },
                 param.member);
    }
    return std::make_unique<Rule>(options);
  };
  return entry;
}

}  // namespace flotilla
