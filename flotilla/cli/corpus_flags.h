// The flags that all corpus commands share: which text to read, how to split it into words, how
// many threads; and their progress lines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/corpus/tokenizer.h"
#include "flotilla/fleet/cli_fwd.h"
#include "flotilla/run/terminal.h"

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

// Adds --data. REQUIRES: flags outlives the command.
void AddTextFlag(CLI::App& command, CorpusFlags* flags);
// Adds --data, --threads and --json.
void AddCorpusFlags(CLI::App& command, CorpusFlags* flags);
void AddTokenizerFlag(CLI::App& command, CorpusFlags* flags);

// The files that --data names. Errors name the flag.
StatusOr<std::vector<std::string>> CorpusFiles(const CorpusFlags& flags);

// A callback that logs every few seconds how much text was read. REQUIRES: terminal outlives it.
std::function<void(int64_t bytes)> TextProgress(Terminal& terminal);

// Megabytes per second since `since_nanos`, a time of the terminal's clock.
double MegabytesPerSecond(int64_t bytes, int64_t since_nanos, const Terminal& terminal);

}  // namespace flotilla
