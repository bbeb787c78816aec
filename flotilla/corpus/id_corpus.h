// A corpus as batches of word ids, for steps that read running text (skip-gram): from raw text or
// from a corpus of ids, kept in memory or read again in every epoch. Both give the same batches.
//
// A batch is one text block (text_blocks.h), about ten thousand words; a sentence is a line, or
// what of it stands in one block.
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

// Stands behind the last id of every sentence.
inline constexpr uint32_t kSentenceEnd = ~uint32_t{0};

struct IdBatch {
  int64_t ordinal = 0;
  int64_t words = 0;              // of the text, also those that have no id
  std::span<const uint32_t> ids;  // and kSentenceEnd; valid until the next batch is asked for
  std::vector<uint32_t> storage;  // of ids, where they are not in memory already
  TextBlock block;                // likewise
};

// The contract of dataset.h in small: epochs of batches, handed out to workers.
class IdCorpus {
 public:
  virtual ~IdCorpus() = default;

  // The words of an epoch; exact once an epoch has been read, before that as far as is known.
  virtual int64_t words() const = 0;
  // The batches of an epoch, likewise.
  virtual int64_t batches() const = 0;

  // REQUIRES: no call of Next is under way.
  virtual void StartEpoch() = 0;
  // The next batch, its memory reused; false at the end. Thread-safe, each worker with its own
  // batch. Errors name file and line.
  virtual StatusOr<bool> Next(IdBatch* batch) = 0;
};

struct IdCorpusOptions {
  // This corpus is one of so many parts of a text, which trainers share. The ordinals of its
  // batches are part, part + parts, ..: no two parts have one in common.
  int part = 0;
  int parts = 1;
  // The files are the whole text, and the part is every parts-th block of it. Otherwise the files
  // are the part.
  bool share_blocks = true;
  // Words of text. Words that are not in the vocabulary are <UNK>, or left out if it has none.
  TokenizerKind tokenizer = TokenizerKind::kEnglish;
  // The text is ids already, separated by blanks; one that is not below the vocabulary's size is an
  // error.
  bool text_is_ids = false;
  int threads = 1;  // to read into memory
  TextBlocksOptions blocks = {.block_bytes = size_t{64} << 10};
  // Told now and then, by any thread, how many bytes were read into memory so far.
  std::function<void(int64_t bytes)> on_progress;
};

// Four bytes a word in memory. The batches do not depend on the number of threads.
// REQUIRES: the vocabulary outlives the call.
StatusOr<std::unique_ptr<IdCorpus>> LoadIdCorpus(const std::vector<std::string>& files,
                                                 const Vocabulary& vocabulary,
                                                 const IdCorpusOptions& options);

// Keeps nothing. `words` and `bytes` of the whole text are what a first pass counted; bytes may be
// 0: not known. REQUIRES: the vocabulary outlives the corpus.
std::unique_ptr<IdCorpus> StreamIdCorpus(const std::vector<std::string>& files,
                                         const Vocabulary& vocabulary, int64_t words, int64_t bytes,
                                         const IdCorpusOptions& options);

}  // namespace flotilla
