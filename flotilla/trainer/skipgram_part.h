// Computes a batch of words with skip-gram windows: on rows in place, in modes whose tables live in
// this process (local, geo); otherwise on pulled rows, whose changes are then pushed
// (skipgram_block.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/corpus/id_corpus.h"
#include "flotilla/corpus/window_sampler.h"
#include "flotilla/tensor/optimizer_spec.h"
#include "flotilla/trainer/part.h"
#include "flotilla/trainer/skipgram_tables.h"
#include "flotilla/trainer/skipgram_windows.h"

namespace flotilla {

// The arguments of parts. Everything pointed to outlives them.
struct SkipgramParts {
  Communicator* communicator = nullptr;
  const WindowSampler* sampler = nullptr;
  const Clock* clock = nullptr;
  SkipgramTables tables;
  std::optional<kernels::CbowRule> cbow;  // SkipgramOptions::cbow
  std::optional<ScheduleSpec> schedule;   // SkipgramOptions::schedule
  int64_t earlier_steps = 0;              // SkipgramOptions::earlier_steps
  double push_scale = 1;                  // SkipgramOptions::push_scale
  const int64_t* epoch = nullptr;         // the current epoch
  // Reads the next batch of the epoch for a worker; returns false at its end.
  std::function<StatusOr<bool>(int worker, IdBatch* batch)> next;

  // The factor of the schedule for the next step.
  double ScheduleFactor() const;
};

class SkipgramPart : public Part {
 public:
  // Counts since Start.
  struct Counts {
    int64_t words = 0;  // of the text, before down-sampling
    int64_t kept = 0;   // of them, trained as targets
    int64_t batches = 0;
    WindowLoss loss;
  };
  void Start() {
    counts_ = {};
    lane_.times = {};
  }
  const Counts& counts() const { return counts_; }

  BatchResult result() const override { return result_; }
  Lane& lane() override { return lane_; }

 protected:
  SkipgramPart(const SkipgramParts& parts, int worker);

  const SkipgramParts& parts() const { return parts_; }
  SkipgramWindows& windows() { return windows_; }
  WindowLoss* loss() { return &counts_.loss; }
  // Counts a batch that was trained at this rate.
  void Count(const IdBatch& batch, const KeptWords& kept, double rate);
  // Calls parts().next; the time is added to the lane.
  StatusOr<bool> Next(int reader, IdBatch* batch);

 private:
  const SkipgramParts parts_;
  Lane lane_;
  SkipgramWindows windows_;
  Counts counts_;
  BatchResult result_;
};

// Makes the kind of part that fits the communicator's tables.
std::unique_ptr<SkipgramPart> MakeSkipgramPart(const SkipgramParts& parts, int worker);

}  // namespace flotilla
