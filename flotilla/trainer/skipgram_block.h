// One batch of text and the rows that it needs, pulled from wherever the parameters live: for
// skip-gram in modes whose tables are not in this process.
//
//   Prepare: chooses words, draws negatives, lists rows -> communicator.Pull(rows())
//   Open -> SkipgramWindows on a copy of the rows, window after window, as on tables in place
//   TakeGradients: the changes of the rows, as gradients -> communicator.Push
//
// So a push is the sum of the gradients of the batch's windows, each computed after the updates of
// the windows before it. Part of a trainer; not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/corpus/window_sampler.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/model_spec.h"
#include "flotilla/tensor/sparse_rows.h"
#include "flotilla/trainer/skipgram_tables.h"
#include "flotilla/trainer/skipgram_windows.h"

namespace flotilla {

class SkipgramBlock {
 public:
  // REQUIRES: sampler and spec outlive the block.
  SkipgramBlock(const ModelSpec* spec, const SkipgramTables& tables, const WindowSampler* sampler);

  // The batch to train; the caller fills it and then calls Prepare.
  IdBatch& batch() { return batch_; }
  const KeptWords& kept() const { return kept_; }

  void Prepare(int64_t epoch);
  // The rows to pull, one for each table of the spec; must not move until the pull is done.
  std::span<SparseRows> rows() { return rows_; }

  // The rows of the windows, valid until Prepare. REQUIRES: rows() were pulled.
  WindowRows Open(double rate);

  // (pulled - moved) / rate for every row: the gradient that, applied with `rate`, gives the result
  // of the windows. Buffers of *gradients are reused. REQUIRES: Open was called.
  void TakeGradients(double rate, Gradients* gradients) const;

 private:
  // The position of an id in rows_[table], assigned at its first use.
  uint32_t PlaceOf(uint32_t id, int table, std::vector<uint32_t>* places);

  const ModelSpec* const spec_;
  const SkipgramTables tables_;
  const WindowSampler* const sampler_;

  IdBatch batch_;
  KeptWords kept_;
  std::vector<uint32_t> input_places_, output_places_;  // by id, kNoPlace between batches
  std::vector<uint32_t> inputs_, targets_, negatives_;  // the members of WindowRows
  std::vector<SparseRows> rows_;                        // as they were pulled
  std::vector<AlignedVector<float>> moved_;             // the same rows after the windows
};

}  // namespace flotilla
