// Word vectors as a value, and the file formats of other tools: word2vec's text and binary formats.
// Used by evaluation, nearest words and `--init_vectors`.
#pragma once

#include <cstdint>
#include <string>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/corpus/vocabulary.h"

namespace flotilla {

// Invariant: values.size() == vocabulary.size() * dim.
struct WordVectors {
  Vocabulary vocabulary;  // by frequency, if known; counts may be 0
  int64_t dim = 0;
  AlignedVector<float> values;  // (words, dim)

  const float* row(size_t id) const { return values.data() + id * static_cast<size_t>(dim); }
  float* row(size_t id) { return values.data() + id * static_cast<size_t>(dim); }

  // Every row divided by its length; rows of zeros are unchanged.
  WordVectors Normalized() const;
};

// Both begin with a line `words dim`. text: a line `word v1 .. vdim` for each word, with numbers
// that read back to the same bits. binary: `word`, a blank, dim little-endian floats, a line feed.
enum class VectorFormat { kText, kBinary };

// The file is written atomically. Errors name the file; a word with a blank is an error, since no
// reader could restore it.
Status SaveVectors(const WordVectors& vectors, VectorFormat format, const std::string& path);

struct LoadVectorsOptions {
  // False: the line `words dim` is missing, as in the text files of GloVe.
  bool header = true;
  int64_t limit = 0;  // only the first N words; 0: all
};

// Reads either format, which is detected from the line of the first word; also .gz and .zst. Errors
// name the file and the line or word: an invalid header, a wrong number of numbers, a duplicate
// word, a premature end.
StatusOr<WordVectors> LoadVectors(const std::string& path, const LoadVectorsOptions& options = {});

}  // namespace flotilla
