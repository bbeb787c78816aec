#include "flotilla/models/model_inputs.h"

#include <algorithm>
#include <utility>

namespace flotilla {

bool ModelInputs::one_id_each() const {
  return std::all_of(ids.begin(), ids.end(),
                     [](const Ids& each) { return each.feature.kind == Feature::Kind::kId; });
}

EmbeddingOptions ModelInputs::Table(std::string name, int64_t dim, InitializerSpec init) const {
  return {.table = std::move(name),
          .dim = dim,
          .rows = id_rows,
          .init = std::move(init),
          .decay = Decay{.l2 = embedding_l2}};
}

ModelInputs DeclareInputs(const Features& features, Graph* graph) {
  ModelInputs inputs{.target = features.labels.at(0), .id_rows = features.id_rows};
  std::vector<Var> numbers;
  for (const Feature& feature : features.features) {
    if (feature.kind == Feature::Kind::kNumber) {
      numbers.push_back(graph->Dense(feature.input, feature.width));
    } else {
      inputs.ids.push_back({feature, graph->Ids(feature.input)});
    }
  }
  if (!numbers.empty()) inputs.numbers = numbers.size() == 1 ? numbers[0] : Concat(numbers);
  inputs.label = graph->Label(inputs.target.input);
  if (!features.weight.empty()) inputs.weight = graph->Dense(features.weight, 1);
  if (!features.group.empty()) inputs.group = graph->Ids(features.group);
  return inputs;
}

std::vector<Var> Embed(const ModelInputs& inputs, const EmbeddingOptions& table) {
  std::vector<Var> vectors;
  for (const ModelInputs::Ids& each : inputs.ids) {
    EmbeddingOptions use = table;
    if (each.feature.kind == Feature::Kind::kSequence) use.pooling = Pooling::kMean;
    vectors.push_back(Embedding(each.var, std::move(use)));
  }
  return vectors;
}

Var LinearPart(const ModelInputs& inputs) {
  const int64_t outputs = inputs.outputs();
  Var sum;
  if (!inputs.ids.empty()) {
    const int64_t fields = static_cast<int64_t>(inputs.ids.size());
    const Var rows = Concat(Embed(inputs, inputs.Table("linear", outputs, Constant(0))));
    sum = outputs == 1 ? ReduceSum(rows, {1}, true)
                       : ReduceSum(Reshape(rows, {fields, outputs}), {1});
  }
  if (!inputs.numbers.valid()) return sum;
  const Var numbers =
      Fc(inputs.numbers, outputs, nullptr,
         {.name = "linear_numbers", .weight = {.init = Constant(0)}, .use_bias = false});
  return sum.valid() ? sum + numbers : numbers;
}

}  // namespace flotilla
