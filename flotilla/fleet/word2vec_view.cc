#include "flotilla/fleet/word2vec_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "flotilla/fleet/job_status.h"
#include "flotilla/report/curve_plot.h"

namespace flotilla {
namespace {

double WordsPerSecond(int64_t words, double seconds) {
  return static_cast<double>(words) / std::max(1e-9, seconds);
}

}  // namespace

Word2VecView::Word2VecView(const Word2VecRunOptions* options, Terminal* terminal)
    : options_(*options), terminal_(*terminal), point_due_(&terminal->clock, kPointSeconds) {}

StatusOr<std::unique_ptr<Word2VecView>> Word2VecView::Make(const Word2VecRunOptions* options,
                                                           bool first, Terminal* terminal) {
  std::unique_ptr<Word2VecView> view(new Word2VecView(options, terminal));
  if (first && !options->out.empty()) {
    FL_ASSIGN_OR_RETURN(view->log_, MetricsLog::Open(options->out + ".log/metrics.jsonl",
                                                     {.aside = options->overwrite}));
  }
  return view;
}

void Word2VecView::Batch(const SkipgramProgress& progress) {
  Show(progress);
  if (!point_due_.Due()) return;
  points_.push_back({.kind = MetricsPoint::Kind::kTrain,
                     .epoch = progress.epoch,
                     .step = progress.step,
                     .loss = progress.loss});
  TellLauncher(progress);
  if (log_ == nullptr) return;
  CheckWrite(
      log_->WriteTrain({.epoch = progress.epoch,
                        .epochs = options_.epochs,
                        .step = progress.step,
                        .rows = progress.words,
                        .epoch_rows = epoch_words_,
                        .loss = progress.loss,
                        .learning_rate = progress.rate,
                        .seconds = progress.seconds,
                        .examples_per_second = WordsPerSecond(progress.words, progress.seconds)}));
}

void Word2VecView::Show(const SkipgramProgress& progress) {
  terminal_.console.Update([&] {
    const double rate = WordsPerSecond(progress.words, progress.seconds);
    const double share = static_cast<double>(progress.words) /
                         static_cast<double>(std::max<int64_t>(1, epoch_words_));
    return TaskMoment{
        .task = "train",
        .fields = {{"epoch", static_cast<double>(progress.epoch),
                    fmt::format("epoch {}", progress.epoch)},
                   {"words", static_cast<double>(progress.words),
                    fmt::format("{:.0f} % of the words", 100 * std::min(1.0, share)), 2},
                   {"words_per_second", rate, fmt::format("{:.0f} words/s", rate)},
                   {"loss", progress.loss, fmt::format("loss {:.4f}", progress.loss), 1},
                   {"learning_rate", progress.rate, fmt::format("rate {:.5f}", progress.rate), 3}},
        .share = std::min(1.0, share)};
  });
}

void Word2VecView::TellLauncher(const SkipgramProgress& progress) const {
  const double rate = WordsPerSecond(progress.words, progress.seconds);
  const int64_t epochs_left = std::max<int64_t>(0, options_.epochs - progress.epoch - 1);
  const int64_t words_left =
      std::max<int64_t>(0, epoch_words_ - progress.words) + epochs_left * epoch_words_;
  WriteStatus(options_.fleet.status_file,
              {.unit = "words",
               .epoch = progress.epoch,
               .epochs = options_.epochs,
               .count = static_cast<double>(progress.words),
               .epoch_count = static_cast<double>(epoch_words_),
               .per_second = rate,
               .loss = progress.loss,
               .seconds_left = static_cast<double>(words_left) / std::max(1e-9, rate)});
}

void Word2VecView::EpochDone(int64_t epoch, int64_t step, const SkipgramReport& report) {
  terminal_.console.EndTask();
  const std::string line =
      fmt::format("epoch {} {}, use time={:.2f}, {:.0f} words/s, loss={:.4f}", epoch,
                  report.stopped ? "stopped" : "finished", report.seconds,
                  WordsPerSecond(report.words, report.seconds), report.loss);
  terminal_.log.info("{}", line);
  if (options_.fleet.role.index == 0) AddStatusLine(options_.fleet.status_file, line);
  points_.push_back(
      {.kind = MetricsPoint::Kind::kEpoch, .epoch = epoch, .step = step, .loss = report.loss});
  if (log_ == nullptr) return;
  const Report figures{.rows = report.words,
                       .batches = report.batches,
                       .loss = report.loss,
                       .seconds = report.seconds};
  CheckWrite(log_->WriteEpoch(epoch, step, figures));
}

void Word2VecView::Saved(int64_t step, const std::string& dir) {
  if (log_ == nullptr) return;
  CheckWrite(log_->Publish());
  CheckWrite(log_->WriteEvent("save", step, dir));
}

Status Word2VecView::Draw() const {
  const CurvePlotOptions plot{.title = "word2vec"};
  if (log_ != nullptr) {
    FL_RETURN_IF_ERROR(WriteCurveSvg(options_.out + ".log/curves.svg", points_, plot));
  }
  if (options_.plot.empty() || options_.fleet.role.index != 0) return absl::OkStatus();
  return Annotate(WriteCurveSvg(options_.plot, points_, plot), "--plot");
}

void Word2VecView::CheckWrite(const Status& status) {
  if (status.ok() || std::exchange(write_failed_, true)) return;
  terminal_.log.warn("{}; training continues", Message(status));
}

}  // namespace flotilla
