#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "flotilla/base/output_file.h"
#include "flotilla/cli/commands.h"
#include "flotilla/cli/source_flags.h"
#include "flotilla/cli/synth_files.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/run/throttle.h"

namespace flotilla {
namespace {

struct SynthFlags {
  uint64_t rows = 0;
  std::optional<uint64_t> test_rows;
  std::string out;
  SynthCriteoOptions synth;
  int threads = 1;
  bool json = false;

  uint64_t TestRows() const { return test_rows.value_or(rows / 10); }
};

nlohmann::ordered_json ScoreJson(const OracleScore& score) {
  return {{"rows", score.rows()},
          {"clicks", score.clicks()},
          {"auc", score.auc()},
          {"logloss", score.logloss()}};
}

std::string ScoreTable(const OracleScore& train, const OracleScore& test) {
  std::string text = fmt::format("{:<14}{:>12}{:>12}\n", "", "train", "test");
  text += fmt::format("{:<14}{:>12}{:>12}\n", "rows", train.rows(), test.rows());
  text += fmt::format("{:<14}{:>12}{:>12}\n", "clicks", train.clicks(), test.clicks());
  text += fmt::format("{:<14}{:>12.4f}{:>12.4f}\n", "best auc", train.auc(), test.auc());
  text +=
      fmt::format("{:<14}{:>12.4f}{:>12.4f}\n", "best logloss", train.logloss(), test.logloss());
  return text;
}

Status Synthesize(const SynthFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const SynthCriteo synth, SynthCriteo::Make(flags.synth));
  const uint64_t all = flags.rows + flags.TestRows();
  std::atomic<int64_t> done = 0;
  const int64_t start = terminal.clock.NowNanos();
  auto rate = [&] {
    const double seconds = static_cast<double>(terminal.clock.NowNanos() - start) * 1e-9;
    return static_cast<double>(done.load()) / seconds;
  };
  Throttle throttle(&terminal.clock, kProgressSeconds);
  SynthFilesOptions files{.threads = flags.threads};
  files.on_rows = [&](int64_t rows) {
    done += rows;
    if (throttle.Due()) terminal.log.info("{} of {} rows, {:.0f} rows/s", done.load(), all, rate());
  };
  files.directory = flags.out + "/train";
  files.end = flags.rows;
  FL_ASSIGN_OR_RETURN(const OracleScore train, WriteSynthFiles(synth, files));
  files.directory = flags.out + "/test";
  files.begin = flags.rows;
  files.end = all;
  FL_ASSIGN_OR_RETURN(const OracleScore test, WriteSynthFiles(synth, files));
  terminal.log.info("wrote {} rows to {}/train and {}/test, {:.0f} rows/s", all, flags.out,
                    flags.out, rate());
  // Written last: if it exists, all other files are complete.
  const nlohmann::ordered_json json = {
      {"train", ScoreJson(train)}, {"test", ScoreJson(test)}, {"seed", flags.synth.seed}};
  FL_RETURN_IF_ERROR(WriteFile(flags.out + "/oracle.json", json.dump(2) + "\n"));
  terminal.out << (flags.json ? json.dump() + "\n" : ScoreTable(train, test));
  return absl::OkStatus();
}

void AddFlags(CLI::App& command, SynthFlags& flags) {
  command.add_option("--rows", flags.rows, "Number of training rows")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->required();
  command
      .add_option("--test_rows", flags.test_rows,
                  "Number of test rows (default: a tenth of --rows)")
      ->type_name("N")
      ->check(WholeNumber(0));
  command.add_option("--out", flags.out, "Directory for the output files")
      ->type_name("DIR")
      ->required();
  AddOption(command, "--seed", flags.synth.seed, "Seed of the known model and its rows", "N",
            WholeNumber(0));
  AddThreadsFlag(command, &flags.threads,
                 "Threads that generate rows; the files do not depend on it.");
  command.add_flag("--json", flags.json, "Print the results as one JSON object");
}

}  // namespace

void AddSynthCriteoCommand(CLI::App& synth, Action* action) {
  auto flags = std::make_shared<SynthFlags>();
  CLI::App* command =
      synth.add_subcommand("criteo",
                           "Generates the files DIR/train/part-0.. and DIR/test/part-0.. in raw "
                           "Criteo text. The model that generates the rows knows the true "
                           "probability of every click, so the best AUC and logloss that any model "
                           "can reach on them are known: they are printed and written to "
                           "DIR/oracle.json.");
  AddFlags(*command, *flags);
  SetAction(*command, action, flags, nullptr, Synthesize);
}

}  // namespace flotilla
