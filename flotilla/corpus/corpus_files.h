// Converts raw text to a corpus of ids on disk, like PaddlePaddle's word2vec example: filter writes
// every word as its id, without the words that down-sampling drops; resplit splits lines into files
// of equal size. Streaming, on all cores; the output does not depend on the number of threads.
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

struct CorpusFilesOptions {
  TokenizerKind tokenizer = TokenizerKind::kEnglish;
  // Filter: words of the vocabulary with at most this count are treated as if they were not in it;
  // the ids of the other words do not change. 0: no such words.
  uint64_t min_count = 0;
  double downsample = 1e-3;  // threshold of down_sampling.h; 0: every word is kept
  uint64_t seed = 0;         // seed of the down-sampling
  int threads = 1;
  TextBlocksOptions blocks;
  // Called from time to time, from any thread, with the number of bytes of text read so far.
  std::function<void(int64_t bytes)> on_progress;
};

struct FilterResult {
  std::vector<std::string> files;  // files written
  uint64_t words = 0;              // words read
  uint64_t unknown = 0;            // words read that are not in the dictionary
  uint64_t written = 0;            // ids in the files
};

// Writes `directory`/NAME for each file .../NAME (without .gz or .zst): a line of ids for every
// line of text, empty if none of its words is kept. Words that are not in the vocabulary are
// written as <UNK>, or dropped if the vocabulary has no <UNK>. Creates the directory. Errors name
// the file; two files of the same name are an error before anything is written.
StatusOr<FilterResult> FilterCorpus(const std::vector<std::string>& files,
                                    const Vocabulary& vocabulary, const std::string& directory,
                                    const CorpusFilesOptions& options);

struct ResplitResult {
  int64_t lines = 0;
  int64_t files = 0;
};

// Writes all lines of all files, in their order, as `directory`/part-0 .. part-(parts - 1): part i
// has the lines [i lines / parts, (i + 1) lines / parts). Reads the files twice, so none may be
// standard input. A line feed is added to the last line of a file if it has none. Input without any
// lines is an error. REQUIRES: parts >= 1.
StatusOr<ResplitResult> ResplitCorpus(const std::vector<std::string>& files, int64_t parts,
                                      const std::string& directory,
                                      const CorpusFilesOptions& options);

}  // namespace flotilla
