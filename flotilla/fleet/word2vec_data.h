// The input of a run of word2vec: initial vectors, the dictionary, and the text as ids. Every
// process of a job builds the same dictionary from the same files; a trainer reads its share of the
// text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/corpus/id_corpus.h"
#include "flotilla/corpus/vocabulary.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/word2vec_options.h"
#include "flotilla/infer/word_vectors.h"

namespace flotilla {

// Not thread-safe.
class Word2VecData {
 public:
  // Initial vectors, by table name.
  using InitTables = std::vector<std::pair<std::string, WordVectors>>;

  // `interrupt`, if not null, ends every pass over the text with its cause. REQUIRES: all
  // outlive the data.
  Word2VecData(const Word2VecRunOptions* options, Terminal* terminal,
               const Interrupt* interrupt = nullptr)
      : options_(*options), terminal_(*terminal), interrupt_(interrupt) {}

  // Reads --init_model, if given, and builds the dictionary: from --dict, or by counting the words
  // of all files. Words of --init_model are added. Errors name the flag.
  Status MakeDictionary();
  const Vocabulary& vocabulary() const { return vocabulary_; }
  InitTables& init() { return init_; }

  // Opens the share of a trainer. REQUIRES: MakeDictionary was called.
  Status OpenCorpus(int trainer, int trainers);
  IdCorpus& corpus() { return *corpus_; }

 private:
  Status LoadInit();
  Status AddInit(const std::string& table, StatusOr<WordVectors> vectors);
  Status CountText();
  Status SetWords(std::vector<WordCount> words);
  // Whether ids are kept in memory; logs if they are not because memory is too small.
  bool InMemory();
  std::function<void(int64_t)> ReadProgress(std::string task);

  const Word2VecRunOptions& options_;
  Terminal& terminal_;
  const Interrupt* const interrupt_;
  InitTables init_;
  Vocabulary vocabulary_;
  int64_t text_words_ = 0, text_bytes_ = 0;  // if a first pass has counted them
  std::unique_ptr<IdCorpus> corpus_;
};

}  // namespace flotilla
