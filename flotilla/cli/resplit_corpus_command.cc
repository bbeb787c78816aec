#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/cli/commands.h"
#include "flotilla/cli/corpus_flags.h"
#include "flotilla/corpus/corpus_files.h"
#include "flotilla/fleet/flags.h"

namespace flotilla {
namespace {

// Upper limit of N: more files would be tiny, and each has a cost of its own.
constexpr int64_t kMostFiles = 1'000'000;

struct ResplitFlags {
  CorpusFlags corpus;
  std::string out;
  int64_t files = 1024;  // as in PaddlePaddle's tutorials
};

Status Resplit(const ResplitFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> files, CorpusFiles(flags.corpus));
  CorpusFilesOptions options;
  options.threads = flags.corpus.threads;
  options.on_progress = TextProgress(terminal);
  FL_ASSIGN_OR_RETURN(const ResplitResult result,
                      ResplitCorpus(files, flags.files, flags.out, options));
  if (result.lines < result.files) {
    terminal.log.warn("{} lines for {} files: some files are empty", result.lines, result.files);
  }
  terminal.log.info("wrote {} lines to {}/part-0 .. part-{}", result.lines, flags.out,
                    result.files - 1);
  const nlohmann::ordered_json json = {{"lines", result.lines}, {"files", result.files}};
  if (flags.corpus.json) {
    terminal.out << json.dump() << "\n";
  } else {
    terminal.out << fmt::format("lines           {:>12}\nfiles           {:>12}\n", result.lines,
                                result.files);
  }
  return absl::OkStatus();
}

}  // namespace

void AddResplitCorpusCommand(CLI::App& corpus, Action* action) {
  auto flags = std::make_shared<ResplitFlags>();
  CLI::App* command = corpus.add_subcommand(
      "resplit",
      "Writes all lines, in their order, to N files of equal numbers of lines, DIR/part-0 .., so "
      "that every worker of every trainer gets a file.");
  command->add_option("N", flags->files, "Number of files (default 1024)")
      ->type_name("")
      ->check(WholeNumber(1, kMostFiles));
  AddCorpusFlags(*command, &flags->corpus);
  command->add_option("--out", flags->out, "Directory for the output files")
      ->type_name("DIR")
      ->required();
  SetAction(*command, action, flags, nullptr, Resplit);
}

}  // namespace flotilla
