// What a run of word2vec tells while it goes on: the live line, a log line for each epoch,
// OUT.log/metrics.jsonl (whose "rows" are words of the text), and in the end the picture of its
// curve. The twin of run_view.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/throttle.h"
#include "flotilla/fleet/word2vec_options.h"
#include "flotilla/report/metrics_log.h"
#include "flotilla/trainer/skipgram_trainer.h"

namespace flotilla {

// One call at a time. A metrics file that cannot be written is told once and does not stop the run.
class Word2VecView {
 public:
  // Of several trainers only the first one keeps metrics. REQUIRES: options and terminal outlive
  // the view.
  static StatusOr<std::unique_ptr<Word2VecView>> Make(const Word2VecRunOptions* options, bool first,
                                                      Terminal* terminal);

  // Words of an epoch of this trainer.
  void set_epoch_words(int64_t words) { epoch_words_ = words; }

  void Batch(const SkipgramProgress& progress);
  // The report is of all trainers.
  void EpochDone(int64_t epoch, int64_t step, const SkipgramReport& report);
  // A model was written: the log of a run that is overwritten gives way.
  void Saved(int64_t step, const std::string& dir);
  // Draws the curve, where options say so.
  Status Draw() const;

 private:
  Word2VecView(const Word2VecRunOptions* options, Terminal* terminal);
  void Show(const SkipgramProgress& progress);
  // For whoever started this trainer.
  void TellLauncher(const SkipgramProgress& progress) const;
  void CheckWrite(const Status& status);

  const Word2VecRunOptions& options_;
  Terminal& terminal_;
  std::unique_ptr<MetricsLog> log_;  // null: no directory for it
  int64_t epoch_words_ = 0;
  Throttle point_due_;
  std::vector<MetricsPoint> points_;
  bool write_failed_ = false;
};

}  // namespace flotilla
