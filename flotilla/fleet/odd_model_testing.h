// A small model that several tests of this directory train: clicks where the id is odd. For test
// programs only.
#pragma once

#include <utility>

#include "flotilla/graph/layers.h"
#include "flotilla/optim/adam.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

struct OddClicks {
  Model model;
  Var ids, label, predict;
};

inline OddClicks MakeOddClicks(double rate = 0.02) {
  Graph g;
  const Var ids = g.Ids("id"), label = g.Label("label");
  const Var x = Embedding(ids, {.table = "t", .dim = 4, .init = Uniform(-0.1, 0.1)});
  const Var predict = Fc(x, 2, Softmax);
  const Var loss = ReduceSum(CrossEntropy(predict, label));
  Model model{.graph = std::move(g),
              .loss = loss,
              .optimizer = Adam(rate),
              .metrics = {Auc(predict, label)}};
  return {std::move(model), ids, label, predict};
}

}  // namespace flotilla
