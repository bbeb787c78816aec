#include "flotilla/cli/corpus_flags.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "flotilla/base/worker_pool.h"
#include "flotilla/dataset/file_list.h"
#include "flotilla/dataset/source.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/run/throttle.h"

namespace flotilla {

void AddTextFlag(CLI::App& command, CorpusFlags* flags) {
  command
      .add_option("--data", flags->data,
                  "The text: files, directories, patterns, @LIST (a file of paths), - (standard "
                  "input); plain, .gz or .zst")
      ->type_name("PATH")
      ->required();
}

void AddCorpusFlags(CLI::App& command, CorpusFlags* flags) {
  flags->threads = Cores();
  AddTextFlag(command, flags);
  command
      .add_option("--threads", flags->threads,
                  "Number of threads; results do not depend on it (default: the number of cores)")
      ->type_name("N")
      ->check(WholeNumber(1, kMaxThreads));
  command.add_flag("--json", flags->json, "Print the results as one JSON object");
}

void AddTokenizerFlag(CLI::App& command, CorpusFlags* flags) {
  AddOption(command, "--tokenizer", flags->tokenizer,
            "english: convert to lower case, delete all characters but a-z and blanks, split at "
            "blanks; whitespace: any language, split at blanks, change nothing else",
            "NAME", OneOf({"english", "whitespace"}));
}

StatusOr<std::vector<std::string>> CorpusFiles(const CorpusFlags& flags) {
  StatusOr<std::vector<std::string>> files =
      ExpandFiles(flags.data, SourceOptions().scheme_commands);
  if (!files.ok()) return Annotate(files.status(), "--data");
  return files;
}

std::function<void(int64_t)> TextProgress(Terminal& terminal) {
  auto throttle = std::make_shared<Throttle>(&terminal.clock, kProgressSeconds);
  const int64_t start = terminal.clock.NowNanos();
  return [throttle, start, &terminal](int64_t bytes) {
    if (!throttle->Due()) return;
    terminal.log.info("read {:.1f} MB, {:.0f} MB/s", static_cast<double>(bytes) * 1e-6,
                      MegabytesPerSecond(bytes, start, terminal));
  };
}

double MegabytesPerSecond(int64_t bytes, int64_t since_nanos, const Terminal& terminal) {
  const auto nanos = static_cast<double>(terminal.clock.NowNanos() - since_nanos);
  return nanos > 0 ? static_cast<double>(bytes) * 1e3 / nanos : 0;
}

}  // namespace flotilla
