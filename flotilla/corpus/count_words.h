// Counts the words of a corpus on all cores: the first pass over raw text, from which the
// vocabulary is made. Memory grows with the distinct words only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/corpus/tokenizer.h"
#include "flotilla/corpus/vocabulary.h"
#include "flotilla/dataset/text_blocks.h"

namespace flotilla {

struct CountWordsOptions {
  TokenizerKind tokenizer = TokenizerKind::kEnglish;
  int threads = 1;
  TextBlocksOptions blocks;
  // Told now and then, by any thread, how many bytes of text were read so far.
  std::function<void(int64_t bytes)> on_progress;
};

struct CorpusCounts {
  std::vector<WordCount> words;  // every distinct word once, in no particular order
  uint64_t total = 0;            // words in all
  int64_t bytes = 0;             // of text
  LetterLoss loss;               // of a sample of the text; the english tokenizer's
};

// Exact, whatever the number of threads. Errors name the file.
StatusOr<CorpusCounts> CountWords(const std::vector<std::string>& files,
                                  const CountWordsOptions& options);

}  // namespace flotilla
