#include "flotilla/rpc/model_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace flotilla {

namespace {

using Out = std::back_insert_iterator<std::string>;

std::string Params(const std::map<std::string, double>& params) {
  std::string text;
  for (const auto& [name, value] : params) {
    fmt::format_to(Out(text), " {}={:.17g}", name, value);
  }
  return text;
}

std::string AttributesText(const ParameterAttributes& attributes) {
  const InitializerSpec& init = attributes.init;
  std::string text = fmt::format("init {} {:.17g} {:.17g} factor {:.17g} trainable {}",
                                 static_cast<int>(init.kind), init.a, init.b,
                                 attributes.learning_rate_factor, attributes.trainable);
  if (attributes.decay.has_value()) {
    fmt::format_to(Out(text), " l1 {:.17g} l2 {:.17g}", attributes.decay->l1, attributes.decay->l2);
  }
  return text;
}

void AddOptimizer(const OptimizerSpec& optimizer, std::string* text) {
  fmt::format_to(Out(*text), "optimizer {}{} l1 {:.17g} l2 {:.17g} clip {} {:.17g}\n",
                 optimizer.name, Params(optimizer.params), optimizer.decay.l1, optimizer.decay.l2,
                 static_cast<int>(optimizer.clip.kind), optimizer.clip.limit);
  const ScheduleSpec& rate = optimizer.learning_rate;
  fmt::format_to(Out(*text), "learning rate {}{} boundaries {:.17g} values {:.17g}\n", rate.name,
                 Params(rate.params), fmt::join(rate.boundaries, ","), fmt::join(rate.values, ","));
}

// The line that starts at `begin`, without its newline.
std::string_view LineAt(std::string_view text, size_t begin) {
  if (begin >= text.size()) return "nothing";
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

}  // namespace

std::string ModelText(const ModelSpec& spec, std::string_view extra) {
  std::string text = fmt::format("seed {}\n", spec.seed);
  AddOptimizer(spec.optimizer, &text);
  for (size_t i = 0; i < spec.parameters.size(); ++i) {
    const ParameterSpec& p = spec.parameters[i];
    fmt::format_to(Out(text), "parameter {} shape {} average {:.17g} {}{}\n", p.name,
                   fmt::join(p.shape, "x"), p.moving_average_keep, AttributesText(p.attributes),
                   spec.without_gradient.contains(static_cast<int>(i)) ? " without gradient" : "");
  }
  for (const TableSpec& t : spec.tables) {
    fmt::format_to(Out(text), "table {} dim {} rows {} meta {} {}\n", t.name, t.dim, t.rows,
                   t.keep_meta, AttributesText(t.attributes));
  }
  text += extra;
  if (text.back() != '\n') text += '\n';
  return text;
}

std::string FirstDifference(std::string_view here, std::string_view there) {
  if (here == there) return "";
  const size_t common =
      std::mismatch(here.begin(), here.end(), there.begin(), there.end()).first - here.begin();
  const std::string_view same = here.substr(0, common);
  const size_t begin = same.rfind('\n') == same.npos ? 0 : same.rfind('\n') + 1;
  return fmt::format("line {}: \"{}\" here, \"{}\" there",
                     1 + std::count(same.begin(), same.begin() + begin, '\n'), LineAt(here, begin),
                     LineAt(there, begin));
}

}  // namespace flotilla
