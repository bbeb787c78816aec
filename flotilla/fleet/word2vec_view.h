// The output of a run of word2vec: the live line, a log line for each epoch, OUT.log/metrics.jsonl
// (whose "rows" are words of the text) and, at the end, the plot of its curve. The counterpart of
// run_view.h.
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

// One call at a time. A metrics file that cannot be written is reported once and does not stop the
// run.
class Word2VecView {
 public:
  // Only trainer 0 writes metrics. REQUIRES: options and terminal outlive the view.
  static StatusOr<std::unique_ptr<Word2VecView>> Make(const Word2VecRunOptions* options, bool first,
                                                      Terminal* terminal);

  // Words per epoch of this trainer.
  void set_epoch_words(int64_t words) { epoch_words_ = words; }

  void Batch(const SkipgramProgress& progress);
  // `report` covers all trainers.
  void EpochDone(int64_t epoch, int64_t step, const SkipgramReport& report);
  // A model was written: the log of an overwritten run is now replaced.
  void Saved(int64_t step, const std::string& dir);
  // Plots the curve if the options ask for it.
  Status Draw() const;

 private:
  Word2VecView(const Word2VecRunOptions* options, Terminal* terminal);
  void Show(const SkipgramProgress& progress);
  // For the launcher of this trainer.
  void TellLauncher(const SkipgramProgress& progress) const;
  void CheckWrite(const Status& status);

  const Word2VecRunOptions& options_;
  Terminal& terminal_;
  std::unique_ptr<MetricsLog> log_;  // null: there is no directory for it
  int64_t epoch_words_ = 0;
  Throttle point_due_;
  std::vector<MetricsPoint> points_;
  bool write_failed_ = false;
};

}  // namespace flotilla
