#include "flotilla/models/word2vec.h"

#include <string>
#include <utility>

#include "flotilla/graph/layers.h"

namespace flotilla {
namespace {

// <in, w[ids]> + b[ids], (B, 1).
Var Logit(Var in, Var ids, const Word2VecOptions& options) {
  const Var weights = Embedding(
      ids, {.table = "emb_w", .dim = options.dim, .rows = options.vocabulary, .init = Constant(0)});
  const Var logit = Dot(in, weights);
  if (!options.bias) return logit;
  return logit +
         Embedding(ids,
                   {.table = "emb_b", .dim = 1, .rows = options.vocabulary, .init = Constant(0)});
}

Var Cost(Var logit, double label) {
  return SigmoidCrossEntropyWithLogits(logit, FillLikeBatch(logit, {1}, label));
}

}  // namespace

Model Word2Vec(const Word2VecOptions& options) {
  Graph g;
  const double width = options.start_range / static_cast<double>(options.dim);
  const Var in = Embedding(g.Ids("input_word"), {.table = "emb",
                                                 .dim = options.dim,
                                                 .rows = options.vocabulary,
                                                 .init = Uniform(-width, width),
                                                 .pooling = Pooling::kMean});
  Var cost = Cost(Logit(in, g.Ids("true_label"), options), 1);
  for (int64_t i = 0; i < options.negatives; ++i) {
    cost = cost + Cost(Logit(in, g.Ids("neg_label_" + std::to_string(i)), options), 0);
  }
  const Var loss = ReduceMean(cost);
  return {.graph = std::move(g),
          .loss = loss,
          .optimizer = {.name = "sgd", .learning_rate = options.learning_rate},
          .metrics = {MeanMetric(loss, "loss", true)}};
}

}  // namespace flotilla
