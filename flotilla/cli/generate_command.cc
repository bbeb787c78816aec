#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/cli/commands.h"
#include "flotilla/cli/source_flags.h"
#include "flotilla/dataset/prepare/generate_files.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/task_progress.h"

namespace flotilla {
namespace {

struct GenerateFlags {
  SourceFlags source;
  std::string out;
  bool json = false;
};

constexpr char kGenerateExamples[] = R"(
A generator is a program in any language that reads raw lines from standard input and writes rows to
standard output, in MultiSlot text: for each input of the model, in its order, the number of values
and the values. In C++, flotilla/dataset/data_generator.h turns a function into a generator.

To debug a generator, run it alone on a few lines and look at its output, then check the rows:

  head -n 3 FILE | ./generator
  cat FILE | ./generator
  cat FILE | ./generator | flotilla data check - --format multislot --model ctr_dnn
  cat FILE | ./generator | flotilla data check - --format multislot \
      --inputs "user:id words:ids price:dense:1 click:label"

Once it works, write its rows to files and train on them:

  flotilla data generate --command ./generator --data raw/ --out rows/

A generator that exits with a code other than 0, is killed, or writes nothing for --pipe_timeout
seconds ends the run; the error shows the file, the command and the end of its standard error.)";

std::string ResultText(const Generated& result, bool json, double seconds) {
  const double rate = static_cast<double>(result.lines) / seconds;
  if (!json) {
    return fmt::format("{:<14}{:>12}\n{:<14}{:>12}\n{:<14}{:>12.0f}\n", "files", result.files,
                       "rows", result.lines, "rows/s", rate);
  }
  const nlohmann::ordered_json object = {{"files", result.files},
                                         {"rows", result.lines},
                                         {"bytes", result.bytes},
                                         {"seconds", seconds},
                                         {"rows_per_second", rate}};
  return object.dump() + "\n";
}

Status Generate(const GenerateFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                      FindFiles("--data", flags.source.paths, flags.source.data));
  TaskProgress progress(terminal, "rows");
  std::atomic<int64_t> lines = 0;
  GenerateOptions options{.source = SourceOf(flags.source.data), .threads = flags.source.threads};
  options.log = [&](std::string_view line) { terminal.log.warn("{}", line); };
  options.on_lines = [&](int64_t more) { progress.Update(lines += more, 0, "generate"); };
  if (flags.out != "-") {
    FL_ASSIGN_OR_RETURN(const Generated result, GenerateFiles(files, flags.out, options));
    terminal.out << ResultText(result, flags.json, progress.Seconds());
    return absl::OkStatus();
  }
  auto print = [&](std::string_view text) -> Status {
    terminal.out.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (terminal.out.good()) return absl::OkStatus();
    return FailedPrecondition("cannot write to standard output");
  };
  FL_ASSIGN_OR_RETURN(const Generated result, GenerateStream(files, print, options));
  terminal.log.info("wrote {} rows of {} file(s)", result.lines, result.files);
  return absl::OkStatus();
}

Status Check(GenerateFlags* flags) {
  SettleDataFlags(flags->source.data_flags, &flags->source.data);
  if (!flags->json || flags->out != "-") return absl::OkStatus();
  return InvalidArgument("--json and --out - both write to standard output: give one of them");
}

}  // namespace

void AddGenerateCommand(CLI::App& data, Action* action) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = data.add_subcommand(
      "generate",
      "Runs a generator over raw files and writes its rows; --help shows how to debug one");
  command
      ->add_option(
          "--command", flags->source.data.pipe_command,
          "The generator: a shell command that reads a file from standard input and writes rows to "
          "standard output")
      ->type_name("CMD")
      ->required();
  command->add_option("--data", flags->source.paths, std::string("Raw data: ") + kPathsHelp)
      ->type_name("PATH")
      ->required();
  command
      ->add_option("--out", flags->out,
                   "Directory for part-000000.., one per input file; it must be empty or not exist "
                   "(-: print the rows)")
      ->type_name("DIR")
      ->required();
  AddReachFlags(*command, &flags->source.data, &flags->source.data_flags, "Options");
  AddThreadsFlag(*command, &flags->source.threads,
                 "Number of generators that run at the same time.");
  command->add_flag("--json", flags->json, "Print the results as one JSON object");
  command->footer(kGenerateExamples);
  SetAction(*command, action, flags, Check, Generate);
}

}  // namespace flotilla
