// Evaluates word vectors on analogies: a is to b as c is to d, in the file format of the usual
// tools (lines `a b c d`, section heads `: name`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/infer/word_vectors.h"

namespace flotilla {

struct AnalogyQuestion {
  std::string a, b, c, d;
};

struct AnalogySection {
  std::string name;  // empty: questions before the first head
  std::vector<AnalogyQuestion> questions;
};

// Errors name file and line: not four words, no questions at all.
StatusOr<std::vector<AnalogySection>> LoadAnalogies(const std::string& path);

// The answer is the word, not a, b or c, whose normalised vector has the largest inner product with
// b - a + c.
struct AnalogyOptions {
  // True: b, a and c are normalised first, as in the usual tools. False: they are used unchanged,
  // as in PaddlePaddle's word2vec example.
  bool normalize = true;
  // Only the first `words` words are candidates and may occur in questions; 0: all. The usual tools
  // report results for 30000.
  int64_t words = 30000;
  // True: an unknown word is treated as <UNK>, and if there is no <UNK> the question counts as
  // wrong, as in PaddlePaddle's word2vec example. False: questions with unknown words are skipped.
  bool unknown_word = false;
  int threads = 1;
};

struct AnalogyScore {
  std::string name;
  int64_t correct = 0;
  int64_t asked = 0;  // without the skipped questions
  int64_t left_out = 0;

  double accuracy() const {
    return asked == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(asked);
  }
};

struct AnalogyReport {
  std::vector<AnalogyScore> sections;
  AnalogyScore total;
};

// A word of a question is looked up as written, then in lower case (ASCII).
AnalogyReport ScoreAnalogies(const WordVectors& vectors,
                             const std::vector<AnalogySection>& sections,
                             const AnalogyOptions& options);

}  // namespace flotilla
