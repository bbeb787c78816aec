#include "flotilla/communicator/match_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "flotilla/optim/update_rule.h"
#include "flotilla/table/table_checkpoint.h"

namespace flotilla {
namespace {

std::string Names(const std::vector<std::string>& names) {
  constexpr size_t kMost = 20;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMost, ", "),
                     names.size() - kMost);
}

// Finds the counterpart of each name in the spec; names whose counterpart has another shape go to
// `differ`.
ModelMatch MatchNames(const ModelSpec& spec, const Manifest& manifest, int states,
                      std::vector<std::string>* differ) {
  ModelMatch match;
  const auto note = [&](const std::string& name, const Status& fits) {
    if (!fits.ok()) differ->push_back(fmt::format("{}: {}", name, Message(fits)));
  };
  for (size_t p = 0; p < spec.parameters.size(); ++p) {
    const ParameterSpec& parameter = spec.parameters[p];
    const bool learns = parameter.attributes.trainable && parameter.moving_average_keep == 0;
    if (const SavedParameter* saved = manifest.FindParameter(parameter.name)) {
      match.parameters.emplace_back(p, saved);
      note(parameter.name, CheckParameterFits(*saved, parameter, learns ? states : 0));
    } else if (manifest.FindTable(parameter.name) != nullptr) {
      note(parameter.name, InvalidArgument("a table there, dense here"));
    } else {
      match.missing.push_back(parameter.name);
    }
  }
  for (size_t t = 0; t < spec.tables.size(); ++t) {
    const TableSpec& table = spec.tables[t];
    if (const SavedTable* saved = manifest.FindTable(table.name)) {
      match.tables.emplace_back(t, saved);
      note(table.name, CheckTableFits(*saved, table, table.attributes.trainable ? states : 0));
    } else if (manifest.FindParameter(table.name) != nullptr) {
      note(table.name, InvalidArgument("dense there, a table here"));
    } else {
      match.missing.push_back(table.name);
    }
  }
  return match;
}

void FindLeftOut(const ModelSpec& spec, const Manifest& manifest, ModelMatch* match) {
  std::set<std::string> here;
  for (const ParameterSpec& parameter : spec.parameters) here.insert(parameter.name);
  for (const TableSpec& table : spec.tables) here.insert(table.name);
  const auto look = [&](const std::string& name) {
    if (!here.contains(name)) match->left_out.push_back(name);
  };
  for (const SavedParameter& parameter : manifest.parameters) look(parameter.name);
  for (const SavedTable& table : manifest.tables) look(table.name);
}

}  // namespace

LoadParts ModelMatch::Parts(bool go_on) const {
  LoadParts parts{.optimizer_state = optimizer_state, .go_on = go_on};
  for (const auto& [t, saved] : tables) parts.tables.push_back(t);
  for (const auto& [p, saved] : parameters) parts.parameters.push_back(p);
  return parts;
}

LoadedModel ModelMatch::Loaded(const CheckpointInfo& info) const {
  return {.step = info.step,
          .seed = info.seed,
          .sections = info.sections,
          .missing = missing,
          .left_out = left_out,
          .fresh_optimizer = fresh_optimizer};
}

StatusOr<ModelMatch> MatchModel(const ModelSpec& spec, const Manifest& manifest,
                                const LoadOptions& options) {
  int states = 0;
  if (options.optimizer_state && manifest.info.inference) {
    return FailedPrecondition(
        "it was saved for inference, without optimizer state: training cannot continue from it; "
        "load it without the state to start from its weights");
  }
  const bool with_state = options.optimizer_state && manifest.info.optimizer_state;
  if (with_state) {
    FL_ASSIGN_OR_RETURN(const auto rule, MakeUpdateRule(spec.optimizer));
    states = rule->states();
  }
  std::vector<std::string> differ;
  ModelMatch match = MatchNames(spec, manifest, states, &differ);
  match.optimizer_state = with_state;
  match.fresh_optimizer = options.optimizer_state && !with_state;
  FindLeftOut(spec, manifest, &match);
  std::vector<std::string> problems;
  if (!match.missing.empty() && !options.allow_missing) {
    problems.push_back("missing there: " + Names(match.missing));
  }
  if (!match.left_out.empty() && !options.allow_missing) {
    problems.push_back("not in this model: " + Names(match.left_out));
  }
  // Another model mostly has another optimizer too, which would be the wrong thing to change.
  if (with_state && problems.empty()) {
    FL_RETURN_IF_ERROR(CheckSameRule(manifest.info.optimizer, spec.optimizer));
  }
  if (!differ.empty()) problems.push_back("of another shape: " + Names(differ));
  if (problems.empty()) return match;
  const auto name = manifest.info.sections.find(kModelNameSection);
  return InvalidArgument(
      "{} does not fit this model: {}",
      name == manifest.info.sections.end() ? "it" : fmt::format("it holds {}, which", name->second),
      fmt::join(problems, "; "));
}

StatusOr<ChosenParameters> ChooseParameters(const ModelSpec& spec, const SaveContents& contents) {
  std::set<std::string> wanted;
  if (contents.names.has_value()) wanted.insert(contents.names->begin(), contents.names->end());
  const auto take = [&](const std::string& name) {
    return !contents.names.has_value() || wanted.erase(name) > 0;
  };
  ChosenParameters chosen;
  for (size_t p = 0; p < spec.parameters.size(); ++p) {
    if (take(spec.parameters[p].name)) chosen.parameters.push_back(static_cast<int>(p));
  }
  for (size_t t = 0; t < spec.tables.size(); ++t) {
    if (take(spec.tables[t].name)) chosen.tables.push_back(static_cast<int>(t));
  }
  if (wanted.empty()) return chosen;
  return NotFound("save: the model has no parameter or table {}", fmt::join(wanted, ", "));
}

std::vector<ParameterValues> ValuesOf(const ModelSpec& spec, const DenseLayout& layout,
                                      std::span<const int> parameters,
                                      std::span<const float> weights,
                                      std::span<const std::vector<float>> states) {
  std::vector<ParameterValues> values;
  for (const int p : parameters) {
    const int64_t length = layout.length(p);
    values.push_back({.name = spec.parameters[p].name,
                      .shape = spec.parameters[p].shape,
                      .weights = weights.subspan(layout.offset(p), length),
                      .state = states[p],
                      .states = static_cast<int>(static_cast<int64_t>(states[p].size()) / length)});
  }
  return values;
}

}  // namespace flotilla
