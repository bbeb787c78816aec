// The same kind of network with its own training loop, written with the API of the tutorials:
// fleet, a dataset with a pipe command, epochs, fetched values, a test, a saved model.
//
//   own_loop GENERATOR TRAIN TEST MODEL_DIR [STRATEGY [INIT_MODEL]]
//
// GENERATOR converts the lines of a file to MultiSlot text (examples/data_generator); TRAIN and
// TEST are files or directories. Started without a role, the program trains in this process. As a
// job:
//
//   flotilla launch --server_num 2 --worker_num 2 -- own_loop .. sync_mode=false
//   flotilla launch --server_num 2 --worker_num 2 -- own_loop .. geo_sgd_mode=true
//
// STRATEGY sets fields of fl::Strategy; INIT_MODEL is a model that the servers start from.
#include <flotilla/flotilla.h>

#include <cstdio>

namespace fl = flotilla;

struct Arguments {
  std::string generator, train, test, model_dir, strategy, init_model;
};

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

// This trainer's share of the rows of a file or directory.
fl::StatusOr<std::unique_ptr<fl::SlotDataset>> OpenRows(const fl::Fleet& fleet,
                                                        const std::vector<fl::Var>& inputs,
                                                        const std::string& generator,
                                                        const std::string& path) {
  FL_ASSIGN_OR_RETURN(auto files, fl::ExpandFiles(std::vector<std::string>{path}, {}));
  FL_ASSIGN_OR_RETURN(files, fleet.split_files(files));
  FL_ASSIGN_OR_RETURN(auto dataset, fl::DatasetFactory().create_dataset("InMemoryDataset"));
  dataset->set_use_var(inputs);
  dataset->set_pipe_command(generator);
  dataset->set_batch_size(100);
  dataset->set_thread(fleet.worker_threads());
  dataset->set_filelist(files);
  dataset->set_interrupt(&fleet.interrupt());  // stops waiting for rows when the job ends
  FL_RETURN_IF_ERROR(dataset->load_into_memory());
  return dataset;
}

fl::Status Train(fl::Fleet& fleet, Network network, const Arguments& args) {
  FL_RETURN_IF_ERROR(fleet.init_worker());
  FL_ASSIGN_OR_RETURN(auto train, OpenRows(fleet, network.inputs, args.generator, args.train));
  FL_ASSIGN_OR_RETURN(auto test, OpenRows(fleet, network.inputs, args.generator, args.test));
  FL_ASSIGN_OR_RETURN(auto executor,
                      fl::Executor::Make(std::move(network.model), &fleet.communicator(),
                                         {.threads = fleet.worker_threads(), .seed = 1}));
  for (int epoch = 0; epoch < 2; ++epoch) {
    FL_RETURN_IF_ERROR(train->global_shuffle(fleet));
    const std::string info = fmt::format("Epoch {} auc ", epoch);
    FL_ASSIGN_OR_RETURN(
        fl::Report report,
        executor->train_from_dataset(
            *train, {.fetch_list = {"auc"}, .fetch_info = {info}, .print_period = 100}));
    FL_RETURN_IF_ERROR(fleet.global_report(executor->model(), &report));
    const int64_t rows = report.rows;
    FL_ASSIGN_OR_RETURN(report, executor->infer_from_dataset(*test));
    FL_RETURN_IF_ERROR(fleet.global_report(executor->model(), &report));
    if (fleet.is_first_worker()) {
      std::printf("epoch %d: %ld rows, test auc %.4f\n", epoch, static_cast<long>(rows),
                  report.Metric("auc"));
    }
  }
  FL_RETURN_IF_ERROR(fleet.save_persistables(*executor, args.model_dir + "/persistables"));
  return fleet.save_inference_model(*executor, args.model_dir + "/inference");
}

fl::Status Run(const Arguments& args) {
  Network network = ClickNetwork();
  fl::Fleet fleet;
  FL_RETURN_IF_ERROR(fleet.init({.seed = 1}));
  FL_ASSIGN_OR_RETURN(const fl::Strategy strategy, fl::Strategy::FromText(args.strategy));
  FL_RETURN_IF_ERROR(fleet.distributed_optimizer(network.model, strategy));
  if (fleet.is_server()) {
    FL_RETURN_IF_ERROR(fleet.init_server(args.init_model));
    return fleet.run_server();
  }
  return fleet.stop_worker(Train(fleet, std::move(network), args));
}

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 4 || words.size() > 6) {
    std::fprintf(stderr,
                 "usage: own_loop GENERATOR TRAIN TEST MODEL_DIR [STRATEGY [INIT_MODEL]]\n");
    return 2;
  }
  const auto word = [&](size_t i) { return i < words.size() ? words[i] : std::string(); };
  const fl::Status status = Run({word(0), word(1), word(2), word(3), word(4), word(5)});
  if (!status.ok()) std::fprintf(stderr, "own_loop: %s\n", status.ToString().c_str());
  return fl::ExitCodeOf(status);
}
