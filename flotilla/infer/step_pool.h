// A lock-free pool of steps that calls of Predict take and return: as many as run at the same time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

#include "flotilla/graph/step.h"

namespace flotilla {

// Thread-safe. A thread first checks the slot where it returned a step the last time, so threads
// that predict repeatedly keep their own steps, whose memory has grown to fit their batches.
class StepPool {
 public:
  explicit StepPool(std::function<std::unique_ptr<Step>()> make) : make_(std::move(make)) {}
  // REQUIRES: every step was returned.
  ~StepPool() {
    for (Slot& slot : slots_) delete slot.step.load(std::memory_order_relaxed);
  }
  StepPool(const StepPool&) = delete;
  StepPool& operator=(const StepPool&) = delete;

  std::unique_ptr<Step> Take() {
    for (size_t i = 0; i < kSlots; ++i) {
      Slot& slot = SlotOf(i);
      // Load before the exchange: only a thread that finds a step writes to the slot's cache line.
      if (slot.step.load(std::memory_order_relaxed) == nullptr) continue;
      if (Step* step = slot.step.exchange(nullptr, std::memory_order_acquire)) {
        return std::unique_ptr<Step>(step);
      }
    }
    return make_();
  }

  // A step for which there is no free slot is destroyed: more than kSlots calls ran at once.
  void GiveBack(std::unique_ptr<Step> step) {
    for (size_t i = 0; i < kSlots; ++i) {
      Step* expected = nullptr;
      if (SlotOf(i).step.compare_exchange_strong(expected, step.get(), std::memory_order_release,
                                                 std::memory_order_relaxed)) {
        step.release();
        return;
      }
    }
  }

 private:
  static constexpr size_t kSlots = 64;
  struct alignas(64) Slot {
    std::atomic<Step*> step = nullptr;
  };

  // The i-th slot to check, for the calling thread.
  Slot& SlotOf(size_t i) {
    static thread_local const size_t first =
        std::hash<std::thread::id>()(std::this_thread::get_id());
    return slots_[(first + i) % kSlots];
  }

  const std::function<std::unique_ptr<Step>()> make_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace flotilla
