// Word2Vec built with the public layers, as in the tutorials; a complete program. It trains sample
// by sample in every mode. `flotilla train word2vec` trains the same loss on plain text, many times
// as fast; use this form to change the loss. samples.py generates the rows:
//   word2vec --data ids/ --pipe_command "python3 samples.py --dict dict" --vocabulary N --out model
#include <flotilla/flotilla.h>

namespace fl = flotilla;

fl::Model Word2Vec(const fl::Config& config) {
  const int64_t words = config.Get("vocabulary", 100000, "Number of words in the dictionary");
  const int64_t dim = config.Get("dim", 100, "Dimension of the vectors");
  const int64_t negatives = config.Get("negatives", 5, "Number of negatives per sample");
  fl::Graph g;
  const fl::Var in = fl::Embedding(
      g.Ids("input_word"),
      {.table = "emb", .dim = dim, .rows = words, .init = fl::Uniform(-0.5 / dim, 0.5 / dim)});
  const auto logit = [&](const fl::Var& ids) {
    const fl::Var weights =
        fl::Embedding(ids, {.table = "emb_w", .dim = dim, .rows = words, .init = fl::Constant(0)});
    const fl::Var bias =
        fl::Embedding(ids, {.table = "emb_b", .dim = 1, .rows = words, .init = fl::Constant(0)});
    return fl::Dot(in, weights) + bias;
  };
  const auto cost = [](const fl::Var& score, double label) {
    return fl::SigmoidCrossEntropyWithLogits(score, fl::FillLikeBatch(score, {1}, label));
  };
  const fl::Var predict = logit(g.Ids("true_label"));
  fl::Var loss = cost(predict, 1);
  for (int64_t i = 0; i < negatives; ++i) {
    loss = loss + cost(logit(g.Ids(fmt::format("neg_label_{}", i))), 0);
  }
  loss = fl::ReduceMean(loss);
  const double rate = config.Get("learning_rate", 1.0, "Learning rate of gradient descent");
  return {.graph = std::move(g), .loss = loss, .optimizer = fl::Sgd(rate), .predict = predict};
}

int main(int argc, char** argv) { return fl::Main(argc, argv, Word2Vec); }
