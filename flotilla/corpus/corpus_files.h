// From raw text to a corpus of ids on disk, the way of the original: filter writes every word as
// its id, without the ones that down-sampling leaves out; resplit cuts any lines into files of
// equal parts. Streaming, on all cores; the files do not depend on the number of threads.
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
  // Filter: words of the vocabulary with this count or a lower one are treated as if they were not
  // in it; the ids of the others stay. 0: none.
  uint64_t min_count = 0;
  double downsample = 1e-3;  // threshold of down_sampling.h; 0: every word is kept
  uint64_t seed = 0;         // of the down-sampling
  int threads = 1;
  TextBlocksOptions blocks;
  // Told now and then, by any thread, how many bytes of text were read so far.
  std::function<void(int64_t bytes)> on_progress;
};

struct FilterResult {
  std::vector<std::string> files;  // that were written
  uint64_t words = 0;              // that were read
  uint64_t unknown = 0;            // of them, not in the dictionary
  uint64_t written = 0;            // ids in the files
};

// Writes `directory`/NAME for each file .../NAME (without .gz or .zst): a line of ids for every
// line of text, empty if nothing of it is kept. Words that are not in the vocabulary are
// <UNK>, or left out if it has none. Makes the directory. Errors name the file; two files of one
// name are an error before anything is written.
StatusOr<FilterResult> FilterCorpus(const std::vector<std::string>& files,
                                    const Vocabulary& vocabulary, const std::string& directory,
                                    const CorpusFilesOptions& options);

struct ResplitResult {
  int64_t lines = 0;
  int64_t files = 0;
};

// Writes all lines of all files, in their order, as `directory`/part-0 .. part-(parts - 1): part i
// has the lines [i lines / parts, (i + 1) lines / parts). Reads the files twice, so none may be
// standard input. The last line of a file gets a line feed if it has none. No lines at all are an
// error. REQUIRES: parts >= 1.
StatusOr<ResplitResult> ResplitCorpus(const std::vector<std::string>& files, int64_t parts,
                                      const std::string& directory,
                                      const CorpusFilesOptions& options);

}  // namespace flotilla
