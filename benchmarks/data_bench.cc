// Measures how fast files are read into batches, as in a trainer: workers take batches from a
// stream of text or of the binary cache until the epoch ends, and discard them. Prints each round
// as one JSON line; benchmarks/run data runs it. Also generates the files that are read.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/text_file.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/data_generator.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/multislot_parser.h"
#include "flotilla/dataset/prepare/synth_criteo.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

struct Options {
  std::string file;
  std::string format = "criteo";
  std::string cache;
  int workers = 1;
  int64_t batch = 1000;
  int64_t shuffle = 0;
  bool rounds = false;
  // For generating files.
  std::string from;
  int64_t bytes = 0;
};

constexpr int64_t kDistinctRows = 200'000;

StatusOr<std::shared_ptr<const Parser>> MakeParser(const std::string& format) {
  const std::vector<InputSpec> inputs = CriteoInputs();
  if (format == "criteo") return CriteoParser::Make(inputs, {});
  return MultislotParser::Make(inputs, {.all_single = true});
}

// Criteo lines: the first lines of a file, or generated ones.
StatusOr<std::string> SomeRows(const std::string& from) {
  if (from.empty()) {
    FL_ASSIGN_OR_RETURN(const SynthCriteo synth, SynthCriteo::Make({}));
    std::string text;
    synth.Rows(0, kDistinctRows, &text);
    return text;
  }
  LineReader reader({from});
  TextLines lines;
  FL_RETURN_IF_ERROR(reader.Take(kDistinctRows, &lines).status());
  return lines.text;
}

StatusOr<std::string> AsMultislot(const std::string& criteo) {
  FL_ASSIGN_OR_RETURN(const std::shared_ptr<const Parser> parser, MakeParser("criteo"));
  MultiSlotOutput out;
  Batch row{.fields = std::vector<Field>(parser->inputs().size())};
  size_t begin = 0;
  while (begin < criteo.size()) {
    const size_t end = criteo.find('\n', begin);
    row.Clear();
    FL_RETURN_IF_ERROR(parser->Parse(std::string_view(criteo).substr(begin, end - begin), &row));
    begin = end + 1;
    for (size_t f = 0; f < row.fields.size(); ++f) {
      const InputSpec& input = parser->inputs()[f];
      if (input.kind == InputKind::kIds) {
        out.Ids(input.name, row.fields[f].ids.ids);
      } else if (input.kind == InputKind::kLabel) {
        out.Ids(input.name, {static_cast<uint64_t>(row.fields[f].values[0])});
      } else {
        out.Floats(input.name, row.fields[f].values);
      }
    }
    out.EndRow();
  }
  return std::move(out.text());
}

// Writes whole copies of some rows, at least options.bytes in total.
Status MakeFile(const Options& options) {
  FL_ASSIGN_OR_RETURN(std::string rows, SomeRows(options.from));
  if (options.format == "multislot") {
    FL_ASSIGN_OR_RETURN(rows, AsMultislot(rows));
  }
  std::ofstream out(options.file, std::ios::binary);
  int64_t written = 0;
  do {
    out << rows;
    written += static_cast<int64_t>(rows.size());
  } while (written < options.bytes && out);
  out.close();
  if (!out) return FailedPrecondition("{}: cannot write", options.file);
  std::cout << nlohmann::json{{"bytes", written}}.dump() << std::endl;
  return absl::OkStatus();
}

// Reads one epoch; returns the first error of a worker.
Status ReadEpoch(Dataset& dataset, int64_t epoch, std::vector<Batch>& batches) {
  FL_RETURN_IF_ERROR(dataset.StartEpoch(epoch));
  std::vector<Status> results(batches.size());
  auto read = [&](int worker) {
    StatusOr<bool> more = true;
    while (more.ok() && *more) more = dataset.Next(worker, &batches[worker]);
    results[worker] = more.status();
  };
  std::vector<std::thread> threads;
  for (size_t worker = 1; worker < batches.size(); ++worker) threads.emplace_back(read, worker);
  read(0);
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) FL_RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

Status Read(const Options& options) {
  FL_ASSIGN_OR_RETURN(const std::shared_ptr<const Parser> parser, MakeParser(options.format));
  FL_ASSIGN_OR_RETURN(
      const std::unique_ptr<BatchedDataset> dataset,
      MakeStream({options.file}, parser,
                 {.batch = {.batch_size = options.batch, .shuffle_rows = options.shuffle},
                  .cache = options.cache,
                  .threads = options.workers}));
  FL_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(options.file));
  const SteadyClock clock;
  std::vector<Batch> batches(options.workers);
  std::string line;
  int64_t epoch = 0;
  do {
    if (options.rounds && !std::getline(std::cin, line)) break;
    const int64_t begin = clock.NowNanos();
    FL_RETURN_IF_ERROR(ReadEpoch(*dataset, epoch++, batches));
    const double seconds = static_cast<double>(clock.NowNanos() - begin) * 1e-9;
    const auto rows = static_cast<double>(dataset->counts().rows);
    // The size of the text, also when the cache is read instead.
    const auto bytes = static_cast<double>(stamp.bytes);
    std::cout << nlohmann::json{{"seconds", seconds},
                                {"rows_per_second", rows / seconds},
                                {"bytes_per_second", bytes / seconds}}
                     .dump()
              << std::endl;
  } while (options.rounds);
  return absl::OkStatus();
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) {
  flotilla::Options options;
  CLI::App app("How fast files become batches");
  app.require_subcommand(1);
  CLI::App* make = app.add_subcommand("make", "write a file of rows");
  make->add_option("--file", options.file, "to write")->required();
  make->add_option("--format", options.format, "criteo or multislot");
  make->add_option("--from", options.from, "Criteo lines to repeat instead of made-up ones");
  make->add_option("--bytes", options.bytes, "at least so many");
  CLI::App* read = app.add_subcommand("read", "read a file, epoch by epoch");
  read->add_option("--file", options.file, "to read")->required();
  read->add_option("--format", options.format, "criteo or multislot");
  read->add_option("--cache", options.cache, "directory of the binary cache");
  read->add_option("--workers", options.workers, "threads")->check(CLI::PositiveNumber);
  read->add_option("--batch", options.batch, "rows of a batch")->check(CLI::PositiveNumber);
  read->add_option("--shuffle", options.shuffle, "rows of a shuffled window");
  read->add_flag("--rounds", options.rounds, "one epoch per line on standard input");
  CLI11_PARSE(app, argc, argv);
  const flotilla::Status status =
      make->parsed() ? flotilla::MakeFile(options) : flotilla::Read(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "data_bench: %s\n", std::string(flotilla::Message(status)).c_str());
  return 1;
}
