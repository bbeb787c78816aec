// A corpus as batches of word ids, for steps that read running text (skip-gram): from raw text or
// from a corpus of ids, kept in memory or read again in every epoch. In memory or streamed, the
// batches are the same.
//
// A batch is one text block (text_blocks.h), about ten thousand words; a sentence is a line, or the
// part of a line that is in one block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/corpus/tokenizer.h"
#include "flotilla/corpus/vocabulary.h"
#include "flotilla/dataset/text_blocks.h"

namespace flotilla {

// Follows the last id of every sentence.
inline constexpr uint32_t kSentenceEnd = ~uint32_t{0};

struct IdBatch {
  int64_t ordinal = 0;
  int64_t words = 0;              // of the text, including words without an id
  std::span<const uint32_t> ids;  // with kSentenceEnd; valid until the next batch is requested
  std::vector<uint32_t> storage;  // backs `ids` if they are not in memory already
  TextBlock block;                // text block, if streamed
};

// A reduced form of the interface in dataset.h: epochs of batches, handed out to workers.
class IdCorpus {
 public:
  virtual ~IdCorpus() = default;

  // The number of words of an epoch; exact once an epoch has been read, an estimate before that.
  virtual int64_t words() const = 0;
  // The number of batches of an epoch; exact or estimated like words().
  virtual int64_t batches() const = 0;

  // Starts an epoch, or continues one: skips the first batches. REQUIRES: no call of Next is in
  // progress.
  virtual Status StartEpoch(int64_t skipped = 0) = 0;
  // The number of batches of this epoch that were handed out or skipped.
  virtual int64_t position() const = 0;
  // Returns the next batch, reusing the memory of *batch; false at the end. Thread-safe if each
  // worker uses its own batch. Errors name file and line.
  virtual StatusOr<bool> Next(IdBatch* batch) = 0;
};

struct IdCorpusOptions {
  // This corpus is part `part` of `parts` parts of a text that trainers share. The ordinals of its
  // batches are part, part + parts, ..: no two parts have an ordinal in common.
  int part = 0;
  int parts = 1;
  // True: the files are the whole text, and the part is every parts-th block of it. False: the
  // files are only the part.
  bool share_blocks = true;
  // How text is split into words. Words that are not in the vocabulary become <UNK>, or are dropped
  // if it has none or drop_unknown is set.
  TokenizerKind tokenizer = TokenizerKind::kEnglish;
  bool drop_unknown = false;
  // The text already consists of ids, separated by blanks; an id that is not below the size of the
  // vocabulary is an error.
  bool text_is_ids = false;
  int threads = 1;  // for loading into memory
  TextBlocksOptions blocks = {.block_bytes = size_t{64} << 10};
  // Called from time to time, from any thread, with the number of bytes read into memory so far.
  std::function<void(int64_t bytes)> on_progress;
};

// Loads the corpus into memory, with four bytes per word. The batches do not depend on the number
// of threads.
// REQUIRES: the vocabulary outlives the call.
StatusOr<std::unique_ptr<IdCorpus>> LoadIdCorpus(const std::vector<std::string>& files,
                                                 const Vocabulary& vocabulary,
                                                 const IdCorpusOptions& options);

// Reads the files again in every epoch and keeps nothing in memory. `words` and `bytes` of the
// whole text come from a first counting pass; bytes 0 means unknown. REQUIRES: the vocabulary
// outlives the corpus.
std::unique_ptr<IdCorpus> StreamIdCorpus(const std::vector<std::string>& files,
                                         const Vocabulary& vocabulary, int64_t words, int64_t bytes,
                                         const IdCorpusOptions& options);

// Sentences of ids that a program has in memory: ids below `words`, and kSentenceEnd after each
// sentence. A batch is the next sentences that together have at least batch_words words; sentences
// are not divided. An id that is out of range and a last sentence without its end are errors.
// REQUIRES: the ids outlive the corpus; batch_words >= 1.
StatusOr<std::unique_ptr<IdCorpus>> GivenIdCorpus(std::span<const uint32_t> ids, size_t words,
                                                  int64_t batch_words);

}  // namespace flotilla
