// Progress of a data tool on the console: how much is done, how fast, and how long it will still
// take.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "flotilla/base/task_moment.h"
#include "flotilla/fleet/terminal.h"

namespace flotilla {

// Thread-safe. The clock starts at construction.
class TaskProgress {
 public:
  // `unit` is what is counted ("rows"). REQUIRES: terminal outlives the object.
  TaskProgress(Terminal& terminal, std::string unit);
  // Takes a live line away.
  ~TaskProgress();
  TaskProgress(const TaskProgress&) = delete;
  TaskProgress& operator=(const TaskProgress&) = delete;

  // Tells the console that so much is done; it shows that when it is time. The rate and the time
  // left are those since `stage` began. A share of 0 is not known, and neither is the time left.
  void Update(int64_t done, double share, std::string_view stage);

  // Seconds since construction, at least a nanosecond.
  double Seconds() const;

 private:
  Terminal& terminal_;
  const std::string unit_;
  const int64_t start_nanos_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::string stage_;
  int64_t stage_nanos_;
};

// What the console shows `seconds` after the stage began: "count", "31 %", "1.20 M rows", "600 k
// rows/s", "15 s left".
TaskMoment ProgressMoment(std::string_view stage, int64_t done, std::string_view unit,
                          double seconds, double share);

}  // namespace flotilla
