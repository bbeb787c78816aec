// How well word vectors answer analogies: a is to b as c is to d, in the files of the usual tools
// (lines `a b c d`, section heads `: name`).
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
  // The usual tools' rule: b, a and c are normalised before. Otherwise as they are, the original's
  // rule.
  bool normalize = true;
  // Only the first so many words are candidates and may occur in questions; 0: all. The usual
  // tools' figures are for 30000.
  int64_t words = 30000;
  // The original's rule: a word that is not there is <UNK>, and if there is no such word the
  // question is answered wrong. Otherwise such questions are left out.
  bool unknown_word = false;
  int threads = 1;
};

struct AnalogyScore {
  std::string name;
  int64_t correct = 0;
  int64_t asked = 0;  // without those left out
  int64_t left_out = 0;

  double accuracy() const {
    return asked == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(asked);
  }
};

struct AnalogyReport {
  std::vector<AnalogyScore> sections;
  AnalogyScore total;
};

// A word of a question is looked for as it is written, then in lower case (ASCII).
AnalogyReport ScoreAnalogies(const WordVectors& vectors,
                             const std::vector<AnalogySection>& sections,
                             const AnalogyOptions& options);

}  // namespace flotilla
