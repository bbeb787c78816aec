// Word vectors as a value, and the files that other tools read and write: word2vec's text and
// binary formats. What evaluation, nearest words and `--init_vectors` work on.
#pragma once

#include <cstdint>
#include <string>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/corpus/vocabulary.h"

namespace flotilla {

// Invariant: values.size() == vocabulary.size() * dim.
struct WordVectors {
  Vocabulary vocabulary;  // by frequency, as far as is known; counts may be 0
  int64_t dim = 0;
  AlignedVector<float> values;  // (words, dim)

  const float* row(size_t id) const { return values.data() + id * static_cast<size_t>(dim); }
  float* row(size_t id) { return values.data() + id * static_cast<size_t>(dim); }

  // Every row divided by its length; rows of zeros stay.
  WordVectors Normalized() const;
};

// Both begin with a line `words dim`. text: a line `word v1 .. vdim` for each word, numbers that
// read back to the same bits. binary: `word`, a blank, dim little-endian floats, a line feed.
enum class VectorFormat { kText, kBinary };

// The file appears whole or not at all. Errors name it; a word with a blank is one, for no reader
// would get it back.
Status SaveVectors(const WordVectors& vectors, VectorFormat format, const std::string& path);

// Reads either format, which it tells by the first word's line; .gz and .zst too. Errors name the
// file and the line or word: a header that is none, a wrong number of numbers, a word that stands
// twice, an end too early.
StatusOr<WordVectors> LoadVectors(const std::string& path);

}  // namespace flotilla
