// Processes the windows of one batch of text, one after the other: draws negatives, prefetches
// rows, updates. It works on rows in the tables of this process, or in a block that was pulled for
// the batch (skipgram_block.h). Part of a trainer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "flotilla/corpus/window_sampler.h"
#include "flotilla/kernels/skipgram.h"
#include "flotilla/tensor/row_block.h"

namespace flotilla {

// The rows that a batch uses, and the rows of each word: kept word i is row inputs[i] of `input`
// and row targets[i] of `output` and `bias`.
struct WindowRows {
  RowBlock input, output, bias;  // bias.first is null: none
  std::span<const uint32_t> inputs, targets;
  // Rows of the negatives, (words, negatives); empty: they are drawn during the pass, and ids are
  // rows.
  std::span<const uint32_t> negatives;
  float rate = 0;
};

// Summed over the sampled windows.
struct WindowLoss {
  double loss = 0;
  int64_t pairs = 0;
};

// One per worker; not thread-safe. Other workers may change rows concurrently (Hogwild).
class SkipgramWindows {
 public:
  // REQUIRES: the sampler outlives the object.
  // `cbow` not set: skip-gram.
  SkipgramWindows(const WindowSampler* sampler, std::optional<kernels::CbowRule> cbow, bool bias);

  // One pass over the words of a batch. The loss of some windows is added to *loss. If
  // `drawn` is given, the negatives that were drawn are appended to it.
  void HogwildRun(const KeptWords& kept, const WindowRows& rows, WindowLoss* loss,
                  std::vector<uint32_t>* drawn);

 private:
  // The negatives of a window, as rows.
  const uint32_t* NegativesOf(const WindowRows& rows, size_t word) const;
  void Lookahead(const KeptWords& kept, const WindowRows& rows, size_t word,
                 std::vector<uint32_t>* drawn);
  void Update(const KeptWords& kept, const WindowRows& rows, size_t word, WindowLoss* loss);

  const WindowSampler* const sampler_;
  const std::optional<kernels::CbowRule> cbow_;
  kernels::WindowScratch scratch_;
  std::vector<uint32_t> ring_;  // negatives of the windows ahead
  std::vector<float*> inputs_, outputs_, biases_;
};

}  // namespace flotilla
