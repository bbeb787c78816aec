// Updates the word vectors of one window of text as a small dense block: every input row against
// one true output row and the negatives shared by the whole window.
//
//   logits (inputs, outputs) = X W^T + b;  errors = label - sigmoid(logits);  label 1 for output 0
//   X += rate * errors W;  W += rate * errors^T X;  b += rate * column sums of errors
//
// This is one step of gradient descent on sigmoid cross entropy, summed over the pairs of the
// block, with all gradients taken at the values before the step. Rows are updated in place.
// Sampling and the vocabulary are not handled here but in trainer/skipgram_trainer.h.
#pragma once

#include <cstdint>
#include <span>

#include "flotilla/base/aligned_vector.h"

namespace flotilla::kernels {

// Number of outputs that are processed together. A block with at most this many outputs reads and
// writes each row once less than a larger one.
inline constexpr size_t kWindowGroup = 6;

struct WindowBlock {
  int64_t dim = 0;
  std::span<float* const> inputs;   // rows of dim floats: the words around the target
  std::span<float* const> outputs;  // rows of dim floats: the target, then the negatives
  std::span<float* const> biases;   // one float for each output, or empty: no bias
  float rate = 0;
};

// Scratch memory that calls reuse; one per thread. Its content is meaningless between calls.
struct WindowScratch {
  AlignedVector<float> errors;
  AlignedVector<float> gradients;
};

// Skip-gram: each input predicts the target. An output or a bias may occur in the block several
// times: its updates add up. An input that occurs several times is updated once per occurrence, one
// after the other, and the outputs see the result of the earlier updates. Rows may be misaligned
// and may change during the call (Hogwild); inputs and outputs do not overlap. Without inputs the
// call has no effect. If `loss` is not null, the cross entropy of all pairs before the update is
// added to it. REQUIRES: dim >= 1, at least one output; biases.size() is 0 or outputs.size().
void SkipgramUpdate(const WindowBlock& block, WindowScratch* scratch, double* loss = nullptr);

// How continuous bag of words joins the n inputs of a window to the vector that predicts the
// target, and what part of that vector's gradient each input gets.
enum class CbowRule {
  kGradient,  // their mean; 1/n: gradient descent on the loss
  kMean,      // their mean; all of it, as in the C tool and with gensim's cbow_mean=1
  kSum,       // their sum; 1/n, as with gensim's cbow_mean=0
};

// Continuous bag of words: the inputs together predict the target. Inputs, too, may occur in the
// block several times. Otherwise like SkipgramUpdate.
void CbowUpdate(const WindowBlock& block, CbowRule rule, WindowScratch* scratch,
                double* loss = nullptr);

}  // namespace flotilla::kernels
