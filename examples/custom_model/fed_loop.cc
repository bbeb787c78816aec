// The program feeds its own batches, as the tutorials do with py_reader: start the reader, run
// until the data ends, reset, for several epochs.
//
//   fed_loop TRAIN MODEL_DIR [STRATEGY]
//
// TRAIN is a file or directory of raw Criteo lines. Started without a role, the program trains in
// this process. As a synchronous job, in which every trainer feeds its own share of the files:
//
//   flotilla launch --server_num 2 --worker_num 2 -- fed_loop TRAIN MODEL_DIR sync_mode=true
#include <flotilla/flotilla.h>

#include <cstdio>
#include <fstream>

namespace fl = flotilla;

fl::Model ClickModel() {
  fl::Graph g;
  std::vector<fl::Var> features = {g.Dense("dense_input", 13)};
  for (int i = 1; i <= 26; ++i) {
    features.push_back(fl::Embedding(g.Ids(fmt::format("C{}", i)), {.table = "emb", .dim = 10}));
  }
  const fl::Var label = g.Label("label");
  const fl::Var predict = fl::Fc(fl::Fc(fl::Concat(features), 64, fl::Relu), 2, fl::Softmax);
  const fl::Var loss = fl::ReduceMean(fl::CrossEntropy(predict, label));
  const fl::MetricSpec auc = fl::Auc(predict, label);
  return {std::move(g), loss, fl::Adam(1e-3), {auc}};
}

// The program's own reader. Batches may come from any source, here from the lines of this trainer's
// share of the files.
class Reader {
 public:
  Reader(std::vector<std::string> files, const fl::Parser* parser, int64_t batch_size)
      : files_(std::move(files)), parser_(parser), batch_size_(batch_size) {}

  void start() {
    next_file_ = 0;
    in_ = std::ifstream();
  }
  // The next batch; false at the end of the data.
  fl::StatusOr<bool> next(fl::Batch* batch) {
    *batch = {.fields = std::vector<fl::Field>(parser_->inputs().size())};
    std::string line;
    while (batch->rows < batch_size_) {
      if (std::getline(in_, line)) {
        FL_RETURN_IF_ERROR(parser_->Parse(line, batch));
        continue;
      }
      if (next_file_ == files_.size()) break;
      in_ = std::ifstream(files_[next_file_++]);
    }
    return batch->rows > 0;
  }

 private:
  const std::vector<std::string> files_;
  const fl::Parser* const parser_;
  const int64_t batch_size_;
  size_t next_file_ = 0;
  std::ifstream in_;
};

fl::Status Train(fl::Fleet& fleet, fl::Model model, const std::string& train,
                 const std::string& model_dir) {
  FL_RETURN_IF_ERROR(fleet.init_worker());
  const fl::Var loss = model.loss;
  FL_ASSIGN_OR_RETURN(const auto parser,
                      fl::MakeParser({.format = "criteo"}, model.graph.def().inputs));
  FL_ASSIGN_OR_RETURN(auto files, fl::ExpandFiles(std::vector<std::string>{train}, {}));
  FL_ASSIGN_OR_RETURN(files, fleet.split_files(files));
  Reader reader(files, parser.get(), 100);
  FL_ASSIGN_OR_RETURN(auto executor, fl::Executor::Make(std::move(model), &fleet.communicator(),
                                                        {.threads = 1, .seed = 1}));
  const std::vector<fl::Fetch> fetch_list = {loss, "auc"};
  for (int epoch = 0; epoch < 2; ++epoch) {
    reader.start();
    int64_t rows = 0;
    float auc = 0;
    fl::Batch batch;
    while (true) {
      FL_ASSIGN_OR_RETURN(const bool more, reader.next(&batch));
      if (!more) break;
      FL_ASSIGN_OR_RETURN(const auto fetched, executor->run(batch, fetch_list));
      rows += batch.rows;
      auc = fetched[1].data[0];
    }
    FL_RETURN_IF_ERROR(executor->end_pass());  // py_reader's reset: ends the pass
    executor->reset_metrics();
    std::printf("worker %d, epoch %d: %ld rows, auc %.4f\n", fleet.worker_index(), epoch,
                static_cast<long>(rows), auc);
  }
  return fleet.save_persistables(*executor, model_dir);
}

fl::Status Run(const std::string& train, const std::string& model_dir,
               const std::string& strategy_text) {
  fl::Model model = ClickModel();
  fl::Fleet fleet;
  FL_RETURN_IF_ERROR(fleet.init({.seed = 1}));
  FL_ASSIGN_OR_RETURN(const fl::Strategy strategy, fl::Strategy::FromText(strategy_text));
  FL_RETURN_IF_ERROR(fleet.distributed_optimizer(model, strategy));
  if (fleet.is_server()) {
    FL_RETURN_IF_ERROR(fleet.init_server());
    return fleet.run_server();
  }
  return fleet.stop_worker(Train(fleet, std::move(model), train, model_dir));
}

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2 || words.size() > 3) {
    std::fprintf(stderr, "usage: fed_loop TRAIN MODEL_DIR [STRATEGY]\n");
    return 2;
  }
  const fl::Status status = Run(words[0], words[1], words.size() > 2 ? words[2] : "");
  if (!status.ok()) std::fprintf(stderr, "fed_loop: %s\n", status.ToString().c_str());
  return fl::ExitCodeOf(status);
}
