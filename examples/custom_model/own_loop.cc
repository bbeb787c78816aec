// The same kind of network with the loop in the program's own hands, in the words of the seeds: a
// dataset with a pipe command, epochs, fetched values, a test, a saved model.
//   own_loop GENERATOR TRAIN_FILE TEST_FILE MODEL_DIR
// GENERATOR turns lines of a file into MultiSlot text: examples/data_generator.
#include <flotilla/flotilla.h>

#include <cstdio>

namespace fl = flotilla;

struct Network {
  fl::Model model;
  std::vector<fl::Var> inputs;  // in the order of the generator's slots
};

Network ClickNetwork() {
  fl::Graph g;
  std::vector<fl::Var> inputs = {g.Dense("dense_input", 13)}, features = inputs;
  for (int i = 1; i <= 26; ++i) {
    inputs.push_back(g.Ids(fmt::format("C{}", i)));
    features.push_back(fl::Embedding(inputs.back(), {.table = "emb", .dim = 10}));
  }
  inputs.push_back(g.Label("label"));
  const fl::Var x = fl::Fc(fl::Concat(features), 64, fl::Relu);
  const fl::Var predict = fl::Fc(x, 2, fl::Softmax);
  const fl::Var loss = fl::ReduceSum(fl::CrossEntropy(predict, inputs.back()));
  const fl::MetricSpec auc = fl::Auc(predict, inputs.back());
  return {{std::move(g), loss, fl::Adam(1e-3), {auc}}, inputs};
}

fl::StatusOr<std::unique_ptr<fl::SlotDataset>> OpenRows(const Network& network,
                                                        const std::string& generator,
                                                        const std::string& file) {
  FL_ASSIGN_OR_RETURN(auto dataset, fl::DatasetFactory().create_dataset("InMemoryDataset"));
  dataset->set_use_var(network.inputs);
  dataset->set_pipe_command(generator);
  dataset->set_batch_size(100);
  dataset->set_thread(2);
  dataset->set_filelist({file});
  FL_RETURN_IF_ERROR(dataset->load_into_memory());
  return dataset;
}

fl::Status Run(char** args) {
  Network network = ClickNetwork();
  FL_ASSIGN_OR_RETURN(auto train, OpenRows(network, args[1], args[2]));
  FL_ASSIGN_OR_RETURN(auto test, OpenRows(network, args[1], args[3]));
  FL_ASSIGN_OR_RETURN(auto executor,
                      fl::Executor::Make(std::move(network.model), {.threads = 2, .seed = 1}));
  for (int epoch = 0; epoch < 2; ++epoch) {
    FL_RETURN_IF_ERROR(train->local_shuffle());
    const std::string info = fmt::format("Epoch {} auc ", epoch);
    FL_RETURN_IF_ERROR(
        executor
            ->train_from_dataset(*train,
                                 {.fetch_list = {"auc"}, .fetch_info = {info}, .print_period = 100})
            .status());
    FL_ASSIGN_OR_RETURN(const fl::Report report, executor->infer_from_dataset(*test));
    std::printf("epoch %d: test auc %.4f\n", epoch, report.Metric("auc"));
  }
  return executor->save_inference_model(args[4]);
}

int main(int argc, char** argv) {
  const fl::Status status =
      argc == 5 ? Run(argv)
                : fl::InvalidArgument("usage: own_loop GENERATOR TRAIN_FILE TEST_FILE MODEL_DIR");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
