#include "flotilla/trainer/joined_round.h"

#include <algorithm>
#include <atomic>

#include "flotilla/kernels/denormals.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {

JoinedRound::JoinedRound(const RoundParts& parts, int64_t chunk_rows, WorkerPool* pool)
    : plan_(parts.plan),
      clock_(parts.clock),
      stop_(parts.stop),
      chunk_rows_(chunk_rows),
      pool_(pool),
      merger_(parts.communicator->spec()),
      ended_(static_cast<size_t>(pool->workers())),
      joined_(parts.plan->options().fetches.size()),
      fetched_(parts.plan->options().fetches.size()) {
  for (int w = 0; w < pool->workers(); ++w) {
    steps_.push_back(std::make_unique<Step>(parts.plan, parts.step));
    lanes_.push_back({.worker = w,
                      .step = steps_.back().get(),
                      .communicator = parts.communicator,
                      .clock = parts.clock});
  }
}

Status JoinedRound::Read(Dataset& dataset) {
  const int64_t start = clock_->NowNanos();
  FL_ASSIGN_OR_RETURN(const bool more, NextUnlessStopped(dataset, 0, stop_, &batch_));
  lanes_[0].times.read += clock_->NowNanos() - start;
  batches_ = more ? 1 : 0;
  return absl::OkStatus();
}

StatusOr<Gradients*> JoinedRound::Compute() {
  FL_RETURN_IF_ERROR(Run(true));
  if (used_ == 1) {
    result_.loss = chunks_[0].gradients.loss;
    return &chunks_[0].gradients;
  }
  merger_.Start();
  for (size_t c = 0; c < used_; ++c) merger_.Add(chunks_[c].gradients);
  result_.loss = merger_.Result().loss;
  return &merger_.Result();
}

Status JoinedRound::Predict() { return Run(false); }

Status JoinedRound::Run(bool training) {
  FL_CHECK(batches_ > 0);
  batches_ = 0;
  const int64_t rows = batch_.rows;
  const int64_t chunk_rows = plan_->row_blocks() ? chunk_rows_ : std::max<int64_t>(rows, 1);
  used_ = static_cast<size_t>((rows + chunk_rows - 1) / chunk_rows);
  if (chunks_.size() < used_) chunks_.resize(used_);
  std::atomic<size_t> next = 0;
  pool_->Run([&](int w) {
    const kernels::FlushDenormals flush;
    for (size_t c = next++; c < used_; c = next++) {
      const int64_t begin = static_cast<int64_t>(c) * chunk_rows;
      const BatchSlice slice(batch_, begin, std::min(begin + chunk_rows, rows));
      chunks_[c].status = RunChunk(training, slice, &chunks_[c], lanes_[w]);
    }
    ended_[w] = clock_->NowNanos();
  });
  const int64_t now = clock_->NowNanos();
  for (size_t w = 0; w < ended_.size(); ++w) lanes_[w].times.wait += now - ended_[w];
  for (size_t c = 0; c < used_; ++c) FL_RETURN_IF_ERROR(chunks_[c].status);
  JoinFetched();
  return absl::OkStatus();
}

Status JoinedRound::RunChunk(bool training, const BatchSlice& slice, Chunk* chunk, Lane& lane) {
  FL_RETURN_IF_ERROR(Prepare(slice, lane));
  FL_RETURN_IF_ERROR(training ? flotilla::Compute(lane, chunk->gradients)
                              : flotilla::Predict(lane));
  chunk->fetched.resize(fetched_.size());
  for (size_t k = 0; k < fetched_.size(); ++k) {
    const FetchedValue value = lane.step->fetched(static_cast<int>(k));
    chunk->fetched[k].assign(value.values.begin(), value.values.end());
  }
  return absl::OkStatus();
}

void JoinedRound::JoinFetched() {
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
    FL_CHECK(static_cast<int64_t>(joined.size()) == shape.size(batch_.rows));
    fetched_[k] = {joined, shape.row_size(), shape.per_row()};
  }
  result_ = {.rows = batch_.rows, .fetched = fetched_};
}

}  // namespace flotilla
