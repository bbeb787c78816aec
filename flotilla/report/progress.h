// The progress display of a running task: the figures derived from a trainer's Progress (rate, time
// left), and Progress in the form that a Console shows.
//
//   trainer --Progress--> ProgressMeter --Progress--> TrainingMoment --> Console (base/console.h)
//                                                 --> MetricsLog (metrics_log.h)
#pragma once

#include <cstdint>
#include <string_view>

#include "flotilla/base/task_moment.h"
#include "flotilla/report/rate_window.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// Follows one run from epoch to epoch. The rate is that of the last seconds of training; time
// between epochs (tests, saves) does not count. Not thread-safe.
class ProgressMeter {
 public:
  explicit ProgressMeter(double window_seconds = 5) : rate_(window_seconds) {}

  // Sets examples_per_second and seconds_left. Call it for every Progress of the run, in order.
  void Complete(Progress* progress);

 private:
  RateWindow rate_;
  int64_t epoch_ = -1;
  double rows_ = 0, seconds_ = 0;                  // of the epoch so far
  double earlier_rows_ = 0, earlier_seconds_ = 0;  // of the epochs before it
};

// The completed fraction of the epoch, in [0, 1]; NaN if unknown.
double EpochShare(const Progress& progress);

// The unit of a rate: rows count as "examples", others ("words") under their own name.
std::string_view RateUnit(std::string_view unit);

// "epoch 0 of 3  ####----  43 %  31.2 k examples/s  loss 0.4512  AUC 0.7812  ..", with every metric
// of the model. When the terminal is too narrow, the first metric stays longest. The keys in JSON
// are the names of the metrics, and NAME_window for values over the last batches. `unit` is what
// data consists of: "rows", or "words" of a text.
TaskMoment TrainingMoment(const Progress& progress, std::string_view unit = "rows");

}  // namespace flotilla
