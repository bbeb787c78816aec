// Trains CTR-DNN or a model of the zoo on rows in memory as a user's program does (trainer,
// in-memory dataset, local communicator), and prints the speed of each round as one JSON line.
// benchmarks/run runs it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>
#include <string>

#include "benchmarks/ctr_rows.h"
#include "flotilla/base/clock.h"
#include "flotilla/base/rng.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/models/ctr_dnn.h"
#include "flotilla/models/zoo.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

struct Options {
  std::string model = "ctr_dnn";
  int64_t batch = 1000;
  int workers = 1;
  int64_t steps = 50;  // total of all workers in one round
  bool rounds = false;
  std::string data;
  std::string optimizer = "adam";
  // 0: the table of the model. N: a growing table with N live rows, of 10^8 possible ids, all
  // equally likely, to measure the cost of large tables.
  int64_t table_rows = 0;
  bool deterministic = false;
};

constexpr int64_t kPossibleIds = 100'000'000;
// What a model of the zoo sees of Criteo rows: one id for each of the 39 columns. Models of
// sequences also get a history.
constexpr int kZooFeatures = 39;

uint64_t LiveId(int64_t k, int64_t live_rows) { return k * (kPossibleIds / live_rows); }

Batch MakeRows(const Options& options, const std::vector<InputSpec>& inputs) {
  const int64_t rows = options.batch * options.steps;
  if (options.table_rows == 0) return MadeUpRows(inputs, rows, MadeUpId);
  return MadeUpRows(inputs, rows, [&](const RngKey& root, int slot, int64_t row) {
    return LiveId(root.With(slot).Below(row, options.table_rows), options.table_rows);
  });
}

StatusOr<Model> MakeModel(const Options& options) {
  if (options.model == "ctr_dnn") {
    CtrDnnOptions model_options{.optimizer = options.optimizer};
    if (options.table_rows > 0) model_options.sparse_feature_dim = 0;
    return CtrDnn(model_options);
  }
  const ZooModel* const found = FindZooModel(options.model);
  if (found == nullptr) return InvalidArgument("--model {}: there is no such model", options.model);
  Features features{.labels = {{.input = "label"}}, .id_rows = 1000001};
  for (int f = 0; f < kZooFeatures; ++f) {
    features.features.push_back({.input = fmt::format("F{}", f), .vocabulary = fmt::to_string(f)});
  }
  if (options.model == "din") {
    features.features.push_back({.input = "history",
                                 .kind = Feature::Kind::kSequence,
                                 .length = kHistoryLength,
                                 .vocabulary = features.features.back().vocabulary});
  }
  return MakeZooModel(*found, features, Config());
}

StatusOr<std::unique_ptr<InMemoryDataset>> MakeDataset(const Options& options,
                                                       const std::vector<InputSpec>& inputs) {
  const BatchOptions batch{.batch_size = options.batch, .drop_last = true};
  if (options.data.empty()) {
    return InMemoryDataset::FromRows(inputs, MakeRows(options, inputs), batch);
  }
  FL_ASSIGN_OR_RETURN(std::shared_ptr<const Parser> parser, CriteoParser::Make(inputs, {}));
  return InMemoryDataset::Load({options.data}, parser, {.batch = batch});
}

Status FillTable(const Options& options, LocalCommunicator& communicator) {
  std::vector<SparseRows> rows(1);
  for (int64_t k = 0; k < options.table_rows;) {
    rows[0].ids.clear();
    for (int64_t i = 0; i < 10000 && k < options.table_rows; ++i, ++k) {
      rows[0].ids.push_back(LiveId(k, options.table_rows));
    }
    FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kCreate, rows));
  }
  return absl::OkStatus();
}

Status Run(const Options& options) {
  FL_ASSIGN_OR_RETURN(const Model model, MakeModel(options));
  FL_RETURN_IF_ERROR(model.graph.status());
  FL_ASSIGN_OR_RETURN(
      auto communicator,
      LocalCommunicator::Make(SpecOf(model, 1), {.joined = options.deterministic, .tables = {}}));
  FL_RETURN_IF_ERROR(FillTable(options, *communicator));
  FL_ASSIGN_OR_RETURN(auto dataset, MakeDataset(options, model.graph.def().inputs));
  const SteadyClock clock;
  FL_ASSIGN_OR_RETURN(auto trainer, Trainer::Make(&model, communicator.get(), &clock,
                                                  {.workers = options.workers}));
  std::string line;
  int64_t epoch = 0;
  do {
    if (options.rounds && !std::getline(std::cin, line)) break;
    FL_ASSIGN_OR_RETURN(const Report report, trainer->TrainEpoch(*dataset, epoch++));
    const double workers = options.workers;
    const nlohmann::json json = {{"examples_per_second", report.rows / report.seconds},
                                 {"ms_per_step", report.seconds * 1e3 * workers / report.batches},
                                 {"loss", report.loss},
                                 {"table_rows", communicator->table(0).size()},
                                 {"bytes_per_row", communicator->table(0).memory_per_row()},
                                 {"read_ms", report.times.read * 1e-6 / report.batches},
                                 {"pull_ms", report.times.pull * 1e-6 / report.batches},
                                 {"compute_ms", report.times.compute * 1e-6 / report.batches},
                                 {"push_ms", report.times.push * 1e-6 / report.batches}};
    std::cout << json.dump() << std::endl;
  } while (options.rounds);
  return absl::OkStatus();
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) {
  flotilla::Options options;
  CLI::App app("The speed of training on rows in memory");
  app.add_option("--model", options.model, "ctr_dnn, or a model of the zoo with its own optimizer");
  app.add_option("--batch", options.batch, "rows of a batch")->check(CLI::PositiveNumber);
  app.add_option("--workers", options.workers, "threads")->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "batches of a round")->check(CLI::PositiveNumber);
  app.add_flag("--rounds", options.rounds, "one round per line on standard input");
  app.add_option("--data", options.data, "Criteo rows for ctr_dnn instead of made-up ones");
  app.add_option("--optimizer", options.optimizer, "update rule of ctr_dnn");
  app.add_option("--table_rows", options.table_rows, "live rows of a growing table")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--deterministic", options.deterministic, "joined workers");
  CLI11_PARSE(app, argc, argv);
  const flotilla::Status status = flotilla::Run(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "ctr_step_bench: %s\n", std::string(flotilla::Message(status)).c_str());
  return 1;
}
