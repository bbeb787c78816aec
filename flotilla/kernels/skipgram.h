// The update of word vectors for one window of text, as a small dense block: every input row
// against one true output row and the negatives that the whole window shares.
//
//   logits (inputs, outputs) = X W^T + b;  errors = label - sigmoid(logits);  label 1 for output 0
//   X += rate * errors W;  W += rate * errors^T X;  b += rate * column sums of errors
//
// That is one step of gradient descent on sigmoid cross entropy, summed over the pairs of the
// block, with all gradients taken at the values before it. Rows are changed where they stand. It
// draws no samples and knows no words; trainer/skipgram_trainer.h does.
#pragma once

#include <cstdint>
#include <span>

#include "flotilla/base/aligned_vector.h"

namespace flotilla::kernels {

// Outputs that are handled together. A block with at most so many reads and writes each row once
// less than a larger one.
inline constexpr size_t kWindowGroup = 6;

struct WindowBlock {
  int64_t dim = 0;
  std::span<float* const> inputs;   // rows of dim floats: the words around the target
  std::span<float* const> outputs;  // rows of dim floats: the target, then the negatives
  std::span<float* const> biases;   // one float for each output, or empty: no bias
  float rate = 0;
};

// Memory that calls reuse; one per thread. Its content means nothing between calls.
struct WindowScratch {
  AlignedVector<float> errors;
  AlignedVector<float> gradients;
};

// Skip-gram: each input predicts the target. An output or a bias may stand in the block several
// times: its changes add up. An input that does is changed once for each, one after the other, and
// the outputs see what the earlier ones made of it.
// Rows may be misaligned and may change under the call (Hogwild); inputs and outputs do not
// overlap. No input: nothing happens. With `loss` the cross entropy of all pairs, before the
// update, is added to it. REQUIRES: dim >= 1, at least one output; biases.size() is 0 or that of
// outputs.
void SkipgramUpdate(const WindowBlock& block, WindowScratch* scratch, double* loss = nullptr);

// Continuous bag of words: the mean of the inputs predicts the target, so each input gets its part
// of the mean's gradient. Inputs too may stand in the block several times. Otherwise the same.
void CbowUpdate(const WindowBlock& block, WindowScratch* scratch, double* loss = nullptr);

}  // namespace flotilla::kernels
