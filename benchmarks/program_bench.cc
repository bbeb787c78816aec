// What a C++ program does with the library, for the board "python", whose sides in Python do the
// same (python_sides.py): whole fits on rows in memory, fed steps, CSV rows read into memory, and
// CSV lines scored. Prints each round as one JSON line.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/ctr_rows.h"
#include "flotilla/base/clock.h"
#include "flotilla/base/text_file.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/stream.h"
#include "flotilla/fleet/executor.h"
#include "flotilla/infer/predictor.h"
#include "flotilla/models/ctr_dnn.h"

namespace flotilla {
namespace {

struct Options {
  int64_t rows = 100000;
  int64_t batch = 1000;
  int64_t steps = 100;
  int threads = 1;
  std::string file;    // CSV with a header
  std::string schema;  // its statistics stand beside it
  std::string model;
};

const SteadyClock kClock;

// Runs one round per line of standard input.
template <typename Round>
Status Rounds(Round round) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const int64_t begin = kClock.NowNanos();
    FL_ASSIGN_OR_RETURN(nlohmann::json figures, round());
    figures["seconds"] = static_cast<double>(kClock.NowNanos() - begin) * 1e-9;
    std::cout << figures.dump() << std::endl;
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Executor>> MakeExecutor(const Options& options,
                                                 const CtrDnnOptions& model) {
  return Executor::Make(CtrDnn(model), {.threads = options.threads, .seed = 1});
}

// Rows that the program has become a dataset, and train for an epoch.
Status WholeFits(const Options& options) {
  FL_ASSIGN_OR_RETURN(const auto executor, MakeExecutor(options, {}));
  const std::vector<InputSpec> inputs = executor->model().graph.def().inputs;
  const Batch rows = MadeUpRows(inputs, options.rows, MadeUpId);
  return Rounds([&]() -> StatusOr<nlohmann::json> {
    FL_ASSIGN_OR_RETURN(
        const auto dataset,
        InMemoryDataset::FromRows(
            inputs, rows, {.batch_size = options.batch, .shuffle_rows = kWholeEpoch, .seed = 1}));
    FL_ASSIGN_OR_RETURN(const Report report, executor->train_from_dataset(*dataset));
    return nlohmann::json{{"loss", report.loss}};
  });
}

// Of a small network: the cost of a step that is not its computation.
Status FedSteps(const Options& options) {
  FL_ASSIGN_OR_RETURN(const auto executor, MakeExecutor(options, {.layers = {8}}));
  const std::vector<InputSpec> inputs = executor->model().graph.def().inputs;
  const Batch rows = MadeUpRows(inputs, options.batch, MadeUpId);
  const std::vector<Fetch> fetches = {"auc", "logloss"};
  return Rounds([&]() -> StatusOr<nlohmann::json> {
    executor->reset_metrics();
    for (int64_t step = 0; step < options.steps; ++step) {
      FL_RETURN_IF_ERROR(executor->run(rows, fetches).status());
    }
    FL_RETURN_IF_ERROR(executor->end_pass());
    return nlohmann::json::object();
  });
}

StatusOr<std::shared_ptr<const Parser>> MakeSchemaParser(const Options& options) {
  const ParserSpec spec = {
      .format = "csv",
      .params = {{"schema_file", options.schema}, {"statistics_file", options.schema + ".stats"}}};
  FL_ASSIGN_OR_RETURN(const std::vector<InputSpec> inputs, InputsOfFormat(spec));
  return MakeParser(spec, inputs);
}

// One thread reads a CSV file: into batches that are thrown away, or into memory.
Status ReadRows(const Options& options, bool keep) {
  FL_ASSIGN_OR_RETURN(const auto parser, MakeSchemaParser(options));
  const StreamOptions stream = {.batch = {.batch_size = options.batch}, .threads = 1};
  return Rounds([&]() -> StatusOr<nlohmann::json> {
    if (keep) {
      FL_ASSIGN_OR_RETURN(const auto rows, InMemoryDataset::Load({options.file}, parser, stream));
      return nlohmann::json{{"rows", rows->rows()}};
    }
    FL_ASSIGN_OR_RETURN(const auto dataset, MakeStream({options.file}, parser, stream));
    FL_RETURN_IF_ERROR(dataset->StartEpoch(0));
    Batch batch;
    StatusOr<bool> more = true;
    while (more.ok() && *more) more = dataset->Next(0, &batch);
    FL_RETURN_IF_ERROR(more.status());
    return nlohmann::json{{"rows", dataset->counts().rows}};
  });
}

// Lines in memory are parsed and scored, a thousand at a time.
Status ScoreLines(const Options& options) {
  FL_ASSIGN_OR_RETURN(const auto predictor, Predictor::Load(options.model));
  FL_ASSIGN_OR_RETURN(const auto parser, predictor->MakeRowParser());
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(options.file, size_t{8} << 30));
  std::istringstream lines(text);
  std::string header, line;
  std::getline(lines, header);
  FL_RETURN_IF_ERROR(parser->CheckHeader(header));
  std::vector<std::string> rows;
  while (std::getline(lines, line)) rows.push_back(line);
  Batch batch{.fields = std::vector<Field>(predictor->inputs().size())};
  std::vector<float> scores;
  return Rounds([&]() -> StatusOr<nlohmann::json> {
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      FL_RETURN_IF_ERROR(parser->Parse(rows[i], &batch));
      if (batch.rows < options.batch && i + 1 < rows.size()) continue;
      FL_RETURN_IF_ERROR(predictor->Predict(batch, &scores));
      for (const float score : scores) sum += score;
      batch.Clear();
    }
    return nlohmann::json{{"rows", rows.size()}, {"mean", sum / rows.size()}};
  });
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) {
  flotilla::Options options;
  CLI::App app("What a C++ program does: one round per line on standard input");
  app.require_subcommand(1);
  CLI::App* fit = app.add_subcommand("fit", "train CTR-DNN for an epoch on rows in memory");
  CLI::App* step = app.add_subcommand("step", "train CTR-DNN on one batch, again and again");
  CLI::App* parse = app.add_subcommand("parse", "read CSV rows into batches");
  CLI::App* load = app.add_subcommand("load", "read CSV rows into memory");
  CLI::App* predict = app.add_subcommand("predict", "score CSV rows");
  fit->add_option("--rows", options.rows, "rows in memory")->check(CLI::PositiveNumber);
  step->add_option("--steps", options.steps, "steps of a round")->check(CLI::PositiveNumber);
  for (CLI::App* each : {fit, step, predict}) {
    each->add_option("--batch", options.batch, "rows per batch")->check(CLI::PositiveNumber);
  }
  for (CLI::App* each : {fit, step}) {
    each->add_option("--threads", options.threads, "workers")->check(CLI::PositiveNumber);
  }
  for (CLI::App* each : {parse, load, predict}) {
    each->add_option("--file", options.file, "CSV with a header")->required();
  }
  for (CLI::App* each : {parse, load}) {
    each->add_option("--schema", options.schema, "with its statistics beside it")->required();
  }
  predict->add_option("--model", options.model, "a model of a schema")->required();
  CLI11_PARSE(app, argc, argv);
  flotilla::Status status;
  if (fit->parsed()) status = flotilla::WholeFits(options);
  if (step->parsed()) status = flotilla::FedSteps(options);
  if (parse->parsed()) status = flotilla::ReadRows(options, /*keep=*/false);
  if (load->parsed()) status = flotilla::ReadRows(options, /*keep=*/true);
  if (predict->parsed()) status = flotilla::ScoreLines(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "program_bench: %s\n", std::string(flotilla::Message(status)).c_str());
  return 1;
}
