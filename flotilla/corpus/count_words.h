// Counts the words of a corpus on all cores: the first pass over raw text, from which the
// vocabulary is built. Memory grows only with the number of distinct words.
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
  // Called from time to time, from any thread, with the number of bytes of text read so far.
  std::function<void(int64_t bytes)> on_progress;
};

struct CorpusCounts {
  std::vector<WordCount> words;  // every distinct word once, in no particular order
  uint64_t total = 0;            // total number of words
  int64_t bytes = 0;             // bytes of text
  int64_t lines = 0;             // line feeds
  LetterLoss loss;               // loss of the english tokenizer on a sample of the text
  // Words, among all, with bytes that are not UTF-8 (whitespace tokenizer), and the first of them
  // as FILE:LINE.
  uint64_t repaired = 0;
  std::string first_repaired;
};

// Exact for any number of threads. Errors name the file.
StatusOr<CorpusCounts> CountWords(const std::vector<std::string>& files,
                                  const CountWordsOptions& options);

}  // namespace flotilla
