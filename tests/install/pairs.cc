// A user's program against an installed Flotilla: the smallest model with fl::Main.
#include <flotilla/flotilla.h>

namespace fl = flotilla;

fl::Model PairModel(const fl::Config& config) {
  fl::Graph g;
  const fl::Var ids = fl::Embedding(g.Ids("ids"), {.table = "emb", .dim = config.Get("dim", 4)});
  const fl::Var predict = fl::Fc(ids, 2, fl::Softmax), label = g.Label("label");
  const fl::Var loss = fl::ReduceSum(fl::CrossEntropy(predict, label));
  return {std::move(g), loss, fl::Adam(0.05), {fl::Auc(predict, label)}};
}

int main(int argc, char** argv) { return fl::Main(argc, argv, PairModel); }
