#include "flotilla/models/mean_model.h"

#include <utility>

#include "flotilla/graph/layers.h"
#include "flotilla/models/model_output.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {

std::string ScopeOf(const MeanPart& part) { return std::string(part.model->name) + "/"; }

StatusOr<Model> MakeMeanModel(std::span<const MeanPart> parts, const Features& features) {
  Graph graph;
  ModelInputs inputs = DeclareInputs(features, &graph);
  Var sum;
  for (const MeanPart& part : parts) {
    const NameScope scope(&graph, std::string(part.model->name));
    FL_ASSIGN_OR_RETURN(const Var logits, part.model->logits(inputs, part.config));
    // The output bias of the part.
    const Var output =
        logits + graph.Parameter("output.b_0", {inputs.outputs()}, {.init = Constant(0)});
    sum = sum.valid() ? sum + output : output;
  }
  // The parts have learned the mean of the label.
  inputs.target.mean = 0;
  Model mean =
      FinishModel(std::move(graph), inputs, Scale(sum, 1 / static_cast<double>(parts.size())));
  mean.optimizer = Sgd(1e-3);
  return mean;
}

}  // namespace flotilla
