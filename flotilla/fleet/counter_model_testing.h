// A model whose dense parameter counts: every batch of Executor::run adds exactly 1 to it. For test
// programs only.
#pragma once

#include <utility>
#include <vector>

#include "flotilla/dataset/batch_builder.h"
#include "flotilla/graph/layers.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

inline constexpr char kCounter[] = "count.w_0";

// The gradient of a row of -1 is -1, and the rate is 1.
inline Model MakeCounter() {
  Graph g;
  const Var y = Fc(g.Dense("x", 1), 1, nullptr,
                   {.name = "count", .weight = {.init = Constant(0)}, .use_bias = false});
  const Var loss = ReduceSum(y);
  return {.graph = std::move(g), .loss = loss, .optimizer = Sgd(1), .metrics = {}, .predict = y};
}

inline Batch CountOne(const Model& model) {
  return *BatchBuilder(model.graph.def().inputs).Values("x", std::vector<float>{-1}).Build();
}

}  // namespace flotilla
