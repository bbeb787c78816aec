// A custom network in a complete program, which has every flag of `flotilla train`:
//   custom_model --data TRAIN --test TEST --format criteo --epochs 2 --out model
#include <flotilla/flotilla.h>

namespace fl = flotilla;

fl::Model ClickModel(const fl::Config& config) {
  fl::Graph g;
  const int64_t dim = config.Get("dim", 10, "Numbers per row of the table");
  std::vector<fl::Var> features = {g.Dense("dense_input", 13)};
  for (int i = 1; i <= 26; ++i) {
    features.push_back(fl::Embedding(g.Ids(fmt::format("C{}", i)), {.table = "emb", .dim = dim}));
  }
  fl::Var x = fl::Concat(features);
  for (int layer = 0; layer < 2; ++layer) x = fl::Fc(x, 128, fl::Relu);
  fl::Var predict = fl::Fc(x, 2, fl::Softmax), label = g.Label("label");
  fl::Var loss = fl::ReduceSum(fl::CrossEntropy(predict, label));
  return {
      std::move(g), loss, fl::Adam(config.Get("learning_rate", 1e-3)), {fl::Auc(predict, label)}};
}

int main(int argc, char** argv) { return fl::Main(argc, argv, ClickModel); }
