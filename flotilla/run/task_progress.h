// Progress of a data tool on the console: how much is done, how fast, and the remaining time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flotilla/base/mutex.h"
#include "flotilla/base/task_moment.h"
#include "flotilla/run/terminal.h"

namespace flotilla {

// Thread-safe. The clock starts at construction.
class TaskProgress {
 public:
  // `unit` is what is counted ("rows"). REQUIRES: terminal outlives the object.
  TaskProgress(Terminal& terminal, std::string unit);
  // Removes the live line.
  ~TaskProgress();
  TaskProgress(const TaskProgress&) = delete;
  TaskProgress& operator=(const TaskProgress&) = delete;

  // Reports progress to the console, which shows it when the next line is due. The rate and the
  // time left are computed since `stage` began. A share of 0 means unknown; then the time left is
  // unknown too.
  void Update(int64_t done, double share, std::string_view stage);

  // Seconds since construction, at least a nanosecond.
  double Seconds() const;

 private:
  Terminal& terminal_;
  const std::string unit_;
  const int64_t start_nanos_;
  Mutex mutex_;
  std::string stage_ FL_GUARDED_BY(mutex_);
  int64_t stage_nanos_ FL_GUARDED_BY(mutex_);
};

// The fields that the console shows `seconds` after the stage began: "count", "31 %", "1.20 M
// rows", "600 k rows/s", "15 s left".
TaskMoment ProgressMoment(std::string_view stage, int64_t done, std::string_view unit,
                          double seconds, double share);

}  // namespace flotilla
