#include "flotilla/models/din.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/models/hidden_layers.h"

namespace flotilla {
namespace {

using Ids = ModelInputs::Ids;

const Ids* Find(const ModelInputs& inputs, const std::string& name, Feature::Kind kind) {
  for (const Ids& each : inputs.ids) {
    if (each.feature.input == name && each.feature.kind == kind) return &each;
  }
  return nullptr;
}

// The inputs of the flags, or those that share a vocabulary.
StatusOr<std::pair<const Ids*, const Ids*>> TargetAndHistory(const ModelInputs& inputs,
                                                             const std::string& target_name,
                                                             const std::string& history_name) {
  const Ids* target = nullptr;
  const Ids* history = nullptr;
  if (!target_name.empty()) {
    target = Find(inputs, target_name, Feature::Kind::kId);
    if (target == nullptr) {
      return InvalidArgument("--target {}: the data has no category of that name", target_name);
    }
  }
  if (!history_name.empty()) {
    history = Find(inputs, history_name, Feature::Kind::kSequence);
    if (history == nullptr) {
      return InvalidArgument("--history {}: the data has no sequence of that name", history_name);
    }
  }
  for (const Ids& h : inputs.ids) {
    if (h.feature.kind != Feature::Kind::kSequence || (history != nullptr && history != &h)) {
      continue;
    }
    for (const Ids& t : inputs.ids) {
      if (t.feature.kind != Feature::Kind::kId || (target != nullptr && target != &t)) continue;
      if (t.feature.vocabulary == h.feature.vocabulary) return std::pair(&t, &h);
    }
  }
  if (target != nullptr && history != nullptr) return std::pair(target, history);
  return InvalidArgument(
      "din needs a category and a sequence of the same vocabulary (item:category(vocabulary=item) "
      "history:sequence(vocabulary=item)), and the data has none: name them with --target and "
      "--history, or use wide_deep");
}

}  // namespace

StatusOr<Var> DinLogits(const ModelInputs& inputs, const Config& config) {
  const int64_t dim = ReadDim(config, 16);
  const std::string target_name =
      config.Get("target", "", "The category that is compared with the history");
  const std::string history_name =
      config.Get("history", "", "The sequence (default of both: those that share a vocabulary)");
  const std::vector<int64_t> attention = config.Get("attention", std::vector<int64_t>{32},
                                                    "Sizes of the hidden layers of the attention");
  const HiddenLayers hidden = HiddenLayers::Read(config, {64, 32});
  FL_ASSIGN_OR_RETURN(const auto pair, TargetAndHistory(inputs, target_name, history_name));
  const auto [target, history] = pair;
  const EmbeddingOptions table = inputs.Table("factors", dim, Normal(0, 0.01));
  std::vector<Var> vectors = Embed(inputs, table);
  const SequenceVars items = EmbeddingSequence(history->var, history->feature.length, table);
  const Var interest = TargetAttention(items.values, Embedding(target->var, table), items.mask,
                                       {.hidden = attention});
  vectors.push_back(interest);
  const Var x = NetworkInput(inputs, std::move(vectors));
  return LinearPart(inputs) + Fc(hidden.Apply(x), inputs.outputs(), nullptr, {.use_bias = false});
}

}  // namespace flotilla
