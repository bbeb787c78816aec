// What the trainers of a job leave for their launcher, and how it is shown as one job: each trainer
// keeps its latest figures in its status file, and trainer 0 adds the lines of ended epochs, which
// are of all trainers, to a second file beside it.
//
//   RunView, Word2VecView --files--> JobView --> TaskMoment, lines --> Console of the launcher
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/task_moment.h"

namespace flotilla {

// A trainer's moment. Figures that are not known are NaN.
struct TrainerStatus {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  std::string unit = "rows";  // what is counted: "rows", or "words" of a text
  int64_t epoch = 0;
  int64_t epochs = 0;  // of the run; 0: not known
  double count = 0;    // rows or words of this epoch so far
  double epoch_count = kUnknown;
  double per_second = kUnknown;
  double loss = kUnknown;  // of the latest batch
  double auc = kUnknown;   // of the epoch so far
  double seconds_left = kUnknown;

  std::string ToText() const;
  // False for what is no status, a half-written one for instance.
  static bool FromText(std::string_view text, TrainerStatus* status);
};

// For the trainer. A file that cannot be written is not worth an error: training goes on without
// a live line. Without a path they do nothing.
void WriteStatus(const std::string& path, const TrainerStatus& status);
void AddStatusLine(const std::string& path, std::string_view line);

// The trainers that have told something as one moment of a job of `trainers`: counts and rates are
// sums, loss and AUC means weighted by the counts, the time left is that of the slowest.
// REQUIRES: statuses is not empty.
TaskMoment JobMoment(std::span<const TrainerStatus> statuses, int trainers);

// For the launcher: looks at the files of the trainers on this machine. Not thread-safe.
class JobView {
 public:
  // REQUIRES: clock outlives the view.
  JobView(std::vector<std::string> files, const Clock* clock);

  // Reads the figures. False while no trainer has left any: then there is no moment to show.
  bool Look();
  // REQUIRES: Look was true.
  TaskMoment moment() const;
  // Lines that were added since the last call.
  std::vector<std::string> NewLines();

 private:
  struct Trainer {
    std::string path;
    std::string text;           // of the status, as it was read last
    int64_t changed_nanos = 0;  // when that changed
    bool told = false;
    TrainerStatus status;
    size_t lines_read = 0;  // bytes of the file of lines
  };

  const Clock* const clock_;
  std::vector<Trainer> trainers_;
};

}  // namespace flotilla
