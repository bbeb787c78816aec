// A network of one's own, trained in this process. The program of the README.
//   custom_model TRAIN_FILE TEST_FILE      raw Criteo text, for example of `flotilla data synth
//   criteo`
#include <flotilla/flotilla.h>

#include <cstdio>

namespace fl = flotilla;

fl::Model ClickModel() {
  fl::Graph g;
  std::vector<fl::Var> features = {g.Dense("dense_input", 13)};
  for (int i = 1; i <= 26; ++i) {
    features.push_back(fl::Embedding(g.Ids(fmt::format("C{}", i)), {.table = "emb", .dim = 10}));
  }
  fl::Var x = fl::Concat(features);
  for (int layer = 0; layer < 2; ++layer) x = fl::Fc(x, 128, fl::Relu);
  fl::Var predict = fl::Fc(x, 2, fl::Softmax), label = g.Label("label");
  fl::Var loss = fl::ReduceSum(fl::CrossEntropy(predict, label));
  return {std::move(g), loss, fl::Adam(1e-3), {fl::Auc(predict, label)}};
}

fl::Status Run(const char* train_file, const char* test_file) {
  const fl::Model model = ClickModel();
  FL_RETURN_IF_ERROR(model.graph.status());  // a mistake in the network, with the layer's name
  FL_ASSIGN_OR_RETURN(std::shared_ptr<const fl::Parser> parser,
                      fl::CriteoParser::Make(model.graph.def().inputs, {}));
  FL_ASSIGN_OR_RETURN(auto train,
                      fl::InMemoryDataset::Load({train_file}, parser, {.batch_size = 100}));
  FL_ASSIGN_OR_RETURN(auto test,
                      fl::InMemoryDataset::Load({test_file}, parser, {.batch_size = 100}));
  FL_ASSIGN_OR_RETURN(auto parameters, fl::LocalCommunicator::Make(fl::SpecOf(model, 1), {}));
  const fl::SteadyClock clock;
  FL_ASSIGN_OR_RETURN(auto trainer,
                      fl::Trainer::Make(&model, parameters.get(), &clock, {.workers = 2}));
  for (int epoch = 0; epoch < 2; ++epoch) {
    FL_RETURN_IF_ERROR(trainer->TrainEpoch(*train, epoch).status());
    FL_ASSIGN_OR_RETURN(const fl::Report report, trainer->Evaluate(*test));
    std::printf("epoch %d: test auc %.4f\n", epoch, report.Metric("auc"));
  }
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  const fl::Status status =
      argc == 3 ? Run(argv[1], argv[2]) : fl::InvalidArgument("usage: custom_model TRAIN TEST");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
