// How trainers of a job report progress to their launcher, which shows it as one job: each trainer
// writes its latest figures to its status file, and trainer 0 appends the lines of completed
// epochs, which cover all trainers, to a second file next to it.
//
//   RunView --files--> JobView --> TaskMoment, lines --> Console of the launcher
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/task_moment.h"
#include "flotilla/tensor/metric_values.h"

namespace flotilla {

// The current figures of a trainer. Unknown figures are NaN.
struct TrainerStatus {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  std::string unit = "rows";  // unit of the counts: "rows", or "words" of a text
  int64_t epoch = 0;
  int64_t epochs = 0;  // of the run; 0: unknown
  double count = 0;    // rows or words of this epoch so far
  double epoch_count = kUnknown;
  double per_second = kUnknown;
  double loss = kUnknown;  // of the latest batch
  MetricValues metrics;    // of the epoch so far
  double seconds_left = kUnknown;

  std::string ToText() const;
  // Returns false if the text is not a status, for example because it is half-written.
  static bool FromText(std::string_view text, TrainerStatus* status);
};

// For the trainer. A file that cannot be written is not an error: training continues without a live
// line. With an empty path they do nothing.
void WriteStatus(const std::string& path, const TrainerStatus& status);
void AddStatusLine(const std::string& path, std::string_view line);

// Combines the statuses of the trainers that have reported, in a job of `trainers`: counts and
// rates are sums, loss and metrics are means weighted by the counts, the time left is that of the
// slowest. REQUIRES: statuses is not empty.
TaskMoment JobMoment(std::span<const TrainerStatus> statuses, int trainers);

// For the launcher: reads the files of the trainers on this machine. Not thread-safe.
class JobView {
 public:
  // REQUIRES: clock outlives the view.
  JobView(std::vector<std::string> files, const Clock* clock);

  // Reads the figures. Returns false while no trainer has written any: there is nothing to show.
  bool Look();
  // REQUIRES: Look has returned true.
  TaskMoment moment() const;
  // The lines that were appended since the last call.
  std::vector<std::string> NewLines();

 private:
  struct Trainer {
    std::string path;
    std::string text;           // content of the status file when it was last read
    int64_t changed_nanos = 0;  // when the content changed
    bool told = false;
    TrainerStatus status;
    size_t lines_read = 0;  // bytes read from the file of lines
  };

  const Clock* const clock_;
  std::vector<Trainer> trainers_;
};

}  // namespace flotilla
