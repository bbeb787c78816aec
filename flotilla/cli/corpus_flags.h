// The flags that all corpus commands share: which text to read, how to split it into words, how
// many threads; and their progress lines.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/corpus/tokenizer.h"
#include "flotilla/fleet/terminal.h"

namespace flotilla {

struct CorpusFlags {
  std::vector<std::string> data;
  std::string tokenizer = "english";
  int threads = 1;
  bool json = false;

  // The name was checked when the command line was read.
  TokenizerKind kind() const {
    return tokenizer == "english" ? TokenizerKind::kEnglish : TokenizerKind::kWhitespace;
  }
};

// Adds --data, --threads and --json. REQUIRES: flags outlives the command.
void AddCorpusFlags(CLI::App& command, const std::string& threads_help, CorpusFlags* flags);
inline constexpr char kCorpusThreadsHelp[] =
    "Number of threads; results do not depend on it (default: the number of cores)";
void AddTokenizerFlag(CLI::App& command, CorpusFlags* flags);

// The files that --data names. Errors name the flag.
StatusOr<std::vector<std::string>> CorpusFiles(const CorpusFlags& flags);

// A callback that logs every few seconds how much text was read. REQUIRES: terminal outlives it.
std::function<void(int64_t bytes)> TextProgress(Terminal& terminal);

// Megabytes per second since `since_nanos`, a time of the terminal's clock.
double MegabytesPerSecond(int64_t bytes, int64_t since_nanos, const Terminal& terminal);

}  // namespace flotilla
