#include "flotilla/trainer/joined_round.h"

#include <algorithm>
#include <atomic>

#include "flotilla/kernels/denormals.h"
#include "flotilla/kernels/vec.h"
#include "flotilla/trainer/bad_batch.h"

namespace flotilla {

JoinedRound::JoinedRound(const GraphParts& parts, int64_t chunk_rows, WorkerPool* pool)
    : parts_(parts),
      chunk_rows_(chunk_rows),
      pool_(pool),
      merger_(parts.communicator->spec()),
      ended_(static_cast<size_t>(pool->workers())),
      joined_(parts.plan->options().fetches.size()),
      fetched_(parts.plan->options().fetches.size()) {
  for (int w = 0; w < pool->workers(); ++w) {
    steps_.push_back(std::make_unique<Step>(parts.plan, parts.step));
    lanes_.push_back(parts.MakeLane(w, steps_.back().get()));
  }
}

Status JoinedRound::Read() {
  FL_ASSIGN_OR_RETURN(const bool more, parts_.Read(0, lanes_[0], &batch_));
  batches_ = more ? 1 : 0;
  return absl::OkStatus();
}

StatusOr<Gradients*> JoinedRound::Compute() {
  FL_CHECK(batches_ > 0);
  batches_ = 0;
  Gradients* gradients = nullptr;
  Status status = RunChunks();
  if (status.ok() && parts_.plan->training()) {
    gradients = AddChunks();
    status = CheckGradients(*parts_.communicator, *gradients, batch_);
  }
  if (!status.ok()) {
    FL_RETURN_IF_ERROR(parts_.Drop(batch_, status));
    result_ = {.rows = batch_.rows, .ordinal = batch_.ordinal, .dropped = true};
    return nullptr;
  }
  JoinFetched();
  result_ = {.rows = batch_.rows,
             .ordinal = batch_.ordinal,
             .loss = gradients == nullptr ? 0 : gradients->loss,
             .fetched = fetched_};
  return gradients;
}

Gradients* JoinedRound::AddChunks() {
  if (used_ == 1) return &chunks_[0].gradients;
  merger_.Start();
  for (size_t c = 0; c < used_; ++c) merger_.Add(chunks_[c].gradients);
  return &merger_.Result();
}

Status JoinedRound::RunChunks() {
  const int64_t rows = batch_.rows;
  const int64_t chunk_rows = parts_.plan->row_blocks() ? chunk_rows_ : std::max<int64_t>(rows, 1);
  // At least one: the step reports the error of a batch without rows.
  used_ = std::max<size_t>(1, static_cast<size_t>((rows + chunk_rows - 1) / chunk_rows));
  if (chunks_.size() < used_) chunks_.resize(used_);
  std::atomic<size_t> next = 0;
  pool_->Run([&](int w) {
    const kernels::FlushDenormals flush;
    for (size_t c = next++; c < used_; c = next++) {
      const int64_t begin = static_cast<int64_t>(c) * chunk_rows;
      const BatchSlice slice(batch_, begin, std::min(begin + chunk_rows, rows));
      chunks_[c].status = RunChunk(slice, &chunks_[c], lanes_[w]);
    }
    ended_[w] = parts_.clock->NowNanos();
  });
  const int64_t now = parts_.clock->NowNanos();
  for (size_t w = 0; w < ended_.size(); ++w) lanes_[w].times.wait += now - ended_[w];
  // Of a chunk with bad values and one that failed, the latter is what matters.
  Status bad;
  for (size_t c = 0; c < used_; ++c) {
    const Status& status = chunks_[c].status;
    if (!status.ok() && !IsBadBatch(status)) return status;
    if (bad.ok()) bad = status;
  }
  return bad;
}

Status JoinedRound::RunChunk(const BatchSlice& slice, Chunk* chunk, Lane& lane) {
  FL_RETURN_IF_ERROR(Prepare(slice, lane));
  FL_RETURN_IF_ERROR(ComputePart(lane, parts_.plan->training() ? &chunk->gradients : nullptr));
  chunk->fetched.resize(fetched_.size());
  for (size_t k = 0; k < fetched_.size(); ++k) {
    const FetchedValue value = lane.step->fetched(static_cast<int>(k));
    chunk->fetched[k].assign(value.values.begin(), value.values.end());
  }
  return absl::OkStatus();
}

void JoinedRound::JoinFetched() {
  const GraphDef& graph = parts_.plan->graph();
  for (size_t k = 0; k < fetched_.size(); ++k) {
    const int var = parts_.plan->options().fetches[k];
    const Shape& shape = graph.vars[var].shape;
    if (graph.vars[var].dtype == DType::kIds) {
      fetched_[k] = {.per_row = true, .ids = &batch_.fields[graph.vars[var].input].ids};
      continue;
    }
    std::vector<float>& joined = joined_[k];
    joined.clear();
    for (size_t c = 0; c < used_; ++c) {
      const std::vector<float>& part = chunks_[c].fetched[k];
      if (shape.per_row()) {
        joined.insert(joined.end(), part.begin(), part.end());
      } else if (parts_.plan->summed(var) && c > 0) {
        kernels::Add(shape.row_size(), joined.data(), part.data(), joined.data());
      } else {
        joined = part;
      }
    }
    FL_CHECK(static_cast<int64_t>(joined.size()) == shape.size(batch_.rows));
    fetched_[k] = {joined, shape.row_size(), shape.per_row()};
  }
}

}  // namespace flotilla
