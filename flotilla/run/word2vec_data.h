// The input of a run of word2vec: initial vectors, the dictionary, and the text as ids. Every
// process of a job builds the same dictionary from the same files; a trainer reads its share of the
// text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/corpus/id_corpus.h"
#include "flotilla/corpus/vocabulary.h"
#include "flotilla/infer/word_vectors.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/word2vec_host.h"
#include "flotilla/run/word2vec_options.h"

namespace flotilla {

// Not thread-safe.
class Word2VecData {
 public:
  // Initial vectors, by table name.
  using InitTables = std::vector<std::pair<std::string, WordVectors>>;

  // `host` is null for a run on files alone. `interrupt`, if not null, ends every pass over the
  // text with its cause. REQUIRES: all outlive the data.
  Word2VecData(const Word2VecRunOptions* options, const Word2VecHost* host, Terminal* terminal,
               const Interrupt* interrupt = nullptr)
      : options_(*options), host_(host), terminal_(*terminal), interrupt_(interrupt) {}

  // Builds the dictionary: from the host, from --dict, from the model that the run resumes, or by
  // counting the words of all files. Reads --init_model, if given, and adds its words, unless the
  // run is resumed. Errors name the flag.
  Status MakeDictionary();
  const Vocabulary& vocabulary() const { return vocabulary_; }
  InitTables& init() { return init_; }

  // Opens the share of a trainer. REQUIRES: MakeDictionary was called.
  Status OpenCorpus(int trainer, int trainers);
  IdCorpus& corpus() { return *corpus_; }
  bool in_memory() const { return in_memory_; }

 private:
  Status LoadInit();
  Status AddInit(const std::string& table, StatusOr<WordVectors> vectors);
  // The dictionary of the model that the run resumes; not set if there is none.
  StatusOr<std::optional<Vocabulary>> Resumed() const;
  Status CountText();
  Status SetWords(std::vector<WordCount> words);
  // Whether to keep ids in memory; logs if they are not because memory is too small.
  bool ChooseMemory();
  std::function<void(int64_t)> ReadProgress(std::string task);

  const Word2VecRunOptions& options_;
  const Word2VecHost* const host_;
  Terminal& terminal_;
  const Interrupt* const interrupt_;
  InitTables init_;
  Vocabulary vocabulary_;
  int64_t text_words_ = 0, text_bytes_ = 0;  // if a first pass has counted them
  bool in_memory_ = true;
  std::unique_ptr<IdCorpus> corpus_;
};

}  // namespace flotilla
