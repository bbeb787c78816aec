#include "flotilla/trainer/joined_round.h"

#include <algorithm>
#include <atomic>

#include "flotilla/kernels/denormals.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {

JoinedRound::JoinedRound(const Plan* plan, int64_t chunk_rows, Communicator* communicator,
                         const Clock* clock)
    : plan_(plan),
      chunk_rows_(chunk_rows),
      communicator_(communicator),
      clock_(clock),
      merger_(communicator->spec()),
      joined_(plan->options().fetches.size()),
      fetched_(plan->options().fetches.size()) {}

StatusOr<Gradients*> JoinedRound::Compute(const Batch& batch, WorkerPool& pool,
                                          std::span<Step* const> steps,
                                          std::span<StageTimes> times) {
  const int64_t chunk_rows = plan_->row_blocks() ? chunk_rows_ : std::max<int64_t>(batch.rows, 1);
  used_ = static_cast<size_t>((batch.rows + chunk_rows - 1) / chunk_rows);
  if (chunks_.size() < used_) chunks_.resize(used_);
  ended_.resize(steps.size());
  std::atomic<size_t> next = 0;
  pool.Run([&](int w) {
    const kernels::FlushDenormals flush;
    for (size_t c = next++; c < used_; c = next++) {
      const int64_t begin = static_cast<int64_t>(c) * chunk_rows;
      const int64_t end = std::min(begin + chunk_rows, batch.rows);
      ComputeChunk(w, batch, begin, end, &chunks_[c], *steps[w], times[w]);
    }
    ended_[w] = clock_->NowNanos();
  });
  const int64_t now = clock_->NowNanos();
  for (size_t w = 0; w < ended_.size(); ++w) times[w].wait += now - ended_[w];
  if (used_ == 1) {
    FL_RETURN_IF_ERROR(chunks_[0].status);
    JoinFetched(batch.rows);
    return &chunks_[0].gradients;
  }
  merger_.Start();
  for (size_t c = 0; c < used_; ++c) {
    FL_RETURN_IF_ERROR(chunks_[c].status);
    if (plan_->training()) merger_.Add(chunks_[c].gradients);
  }
  JoinFetched(batch.rows);
  return &merger_.Result();
}

void JoinedRound::ComputeChunk(int worker, const Batch& batch, int64_t begin, int64_t end,
                               Chunk* chunk, Step& step, StageTimes& times) {
  const BatchSlice slice(batch, begin, end);
  chunk->status = plan_->training() ? ComputeGradients(worker, slice, step, *communicator_, *clock_,
                                                       chunk->gradients, times)
                                    : Predict(worker, slice, step, *communicator_);
  if (!chunk->status.ok()) return;
  chunk->fetched.resize(fetched_.size());
  for (size_t k = 0; k < fetched_.size(); ++k) {
    const FetchedValue value = step.fetched(static_cast<int>(k));
    chunk->fetched[k].assign(value.values.begin(), value.values.end());
  }
}

void JoinedRound::JoinFetched(int64_t rows) {
  const GraphDef& graph = plan_->graph();
  for (size_t k = 0; k < fetched_.size(); ++k) {
    const int var = plan_->options().fetches[k];
    const Shape& shape = graph.vars[var].shape;
    std::vector<float>& joined = joined_[k];
    joined.clear();
    for (size_t c = 0; c < used_; ++c) {
      const std::vector<float>& part = chunks_[c].fetched[k];
      if (shape.per_row()) {
        joined.insert(joined.end(), part.begin(), part.end());
      } else if (plan_->summed(var) && c > 0) {
        kernels::Add(shape.row_size(), joined.data(), part.data(), joined.data());
      } else {
        joined = part;
      }
    }
    FL_CHECK(static_cast<int64_t>(joined.size()) == shape.size(rows));
    fetched_[k] = {joined, shape.row_size(), shape.per_row()};
  }
}

}  // namespace flotilla
