#include "flotilla/trainer/model.h"

#include "flotilla/graph/plan.h"

namespace flotilla {

ModelSpec SpecOf(const Model& model, uint64_t seed) {
  ModelSpec spec{.parameters = model.graph.def().parameters,
                 .tables = model.graph.def().tables,
                 .optimizer = model.optimizer,
                 .seed = seed,
                 .without_gradient = {}};
  // A loss that cannot be planned is reported by the trainer.
  if (!model.loss.valid()) return spec;
  const auto plan = Plan::Make(model.graph.def(), {.loss = model.loss.index(), .fetches = {}});
  if (!plan.ok()) return spec;
  const std::span<const int> unused = (*plan)->unused_parameters();
  spec.without_gradient = {unused.begin(), unused.end()};
  return spec;
}

}  // namespace flotilla
