#include "flotilla/infer/evaluate.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "flotilla/base/mutex.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/infer/prediction_file.h"
#include "flotilla/metric/metric_set.h"

namespace flotilla {
namespace {

// The model's metrics, followed by the calibration of the first one that scores clicks.
StatusOr<std::vector<MetricSpec>> SpecsOf(const Predictor& predictor) {
  std::vector<MetricSpec> specs(predictor.metrics().begin(), predictor.metrics().end());
  FL_ASSIGN_OR_RETURN(const MetricSet metrics, MetricSet::Make(specs, predictor.fetches()));
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!metrics.metric(i).scores_clicks()) continue;
    specs.push_back(CalibrationSpec(specs[i].vars[0], specs[i].vars[1]));
    break;
  }
  return specs;
}

void Tell(const MetricSet& metrics, bool calibrated, Evaluation* result) {
  result->metrics = metrics.Values();
  result->hints = metrics.Hints();
  if (!calibrated) return;
  result->metrics.pop_back();
  const auto& calibration =
      static_cast<const CalibrationMeter&>(metrics.metric(result->metrics.size()));
  result->calibration = calibration.Value();
  result->deciles = calibration.Deciles();
}

const char* KindName(InputKind kind) {
  switch (kind) {
    case InputKind::kDense:
      return "dense";
    case InputKind::kIds:
      return "ids";
    case InputKind::kLabel:
      return "label";
  }
  return "";
}

Status CheckInputs(std::span<const InputSpec> model, std::span<const InputSpec> data) {
  for (size_t i = 0; i < std::min(model.size(), data.size()); ++i) {
    if (model[i] == data[i]) continue;
    return InvalidArgument("input {}: the model reads {} ({}, width {}), the data has {} ({}, {})",
                           i, model[i].name, KindName(model[i].kind), model[i].width, data[i].name,
                           KindName(data[i].kind), data[i].width);
  }
  if (model.size() == data.size()) return absl::OkStatus();
  return InvalidArgument("the model reads {} inputs, the data has {}", model.size(), data.size());
}

// The last column of the prediction.
void CopyScores(const FetchedValue& predict, int64_t rows, std::vector<float>* scores) {
  scores->resize(rows);
  for (int64_t i = 0; i < rows; ++i) {
    (*scores)[i] = predict.values[(i + 1) * predict.row_size - 1];
  }
}

// One pass over a dataset: the part of Evaluate that the workers run.
class Pass {
 public:
  Pass(const Predictor& predictor, Dataset& dataset, PredictionFile* file)
      : predictor_(predictor), dataset_(dataset), file_(file) {}

  void Work(int worker, MetricSet* metrics) {
    Status status = Score(worker, metrics);
    if (file_ != nullptr) file_->Leave(worker);
    if (status.ok()) return;
    MutexLock lock(mutex_);
    if (first_error_.ok()) first_error_ = std::move(status);
    failed_ = true;
  }

  // Called after every worker has ended.
  Status status() {
    MutexLock lock(mutex_);
    return first_error_;
  }
  int64_t rows() const { return rows_; }

 private:
  Status Score(int worker, MetricSet* metrics) {
    Batch batch;
    std::vector<float> scores;
    while (!failed_.load(std::memory_order_relaxed)) {
      FL_ASSIGN_OR_RETURN(const bool more, dataset_.Next(worker, &batch));
      if (!more) break;
      FL_RETURN_IF_ERROR(predictor_.Run(batch, [&](std::span<const FetchedValue> values) {
        metrics->Add(batch.rows, values);
        if (file_ != nullptr) CopyScores(values[0], batch.rows, &scores);
      }));
      rows_ += batch.rows;
      if (file_ != nullptr) FL_RETURN_IF_ERROR(file_->Add(worker, batch.ordinal, scores));
    }
    return absl::OkStatus();
  }

  const Predictor& predictor_;
  Dataset& dataset_;
  PredictionFile* const file_;  // may be null
  std::atomic<int64_t> rows_ = 0;
  std::atomic<bool> failed_ = false;
  Mutex mutex_;
  Status first_error_ FL_GUARDED_BY(mutex_);
};

}  // namespace

double Evaluation::Metric(const std::string& name) const { return MetricValue(metrics, name); }

StatusOr<Evaluation> Evaluate(const Predictor& predictor, Dataset& dataset, const Clock& clock,
                              const EvaluateOptions& options) {
  FL_RETURN_IF_ERROR(CheckInputs(predictor.inputs(), dataset.inputs()));
  FL_ASSIGN_OR_RETURN(const std::vector<MetricSpec> specs, SpecsOf(predictor));
  std::vector<MetricSet> metrics;  // by worker
  for (int w = 0; w < options.threads; ++w) {
    FL_ASSIGN_OR_RETURN(MetricSet worker, MetricSet::Make(specs, predictor.fetches()));
    metrics.push_back(std::move(worker));
  }
  std::unique_ptr<PredictionFile> file;
  const PredictionFileOptions file_options{.workers = options.threads};
  if (options.predictions_stream != nullptr) {
    file = PredictionFile::ToStream(options.predictions_stream, file_options);
  } else if (!options.predictions.empty()) {
    FL_ASSIGN_OR_RETURN(file, PredictionFile::Make(options.predictions, file_options));
  }
  const int64_t start = clock.NowNanos();
  FL_RETURN_IF_ERROR(dataset.StartEpoch(0));
  Pass pass(predictor, dataset, file.get());
  WorkerPool(options.threads).Run([&](int w) { pass.Work(w, &metrics[w]); });
  FL_RETURN_IF_ERROR(pass.status());
  if (file != nullptr) FL_RETURN_IF_ERROR(file->Finish());
  Evaluation result;
  result.seconds = static_cast<double>(clock.NowNanos() - start) * 1e-9;
  result.rows = pass.rows();
  DatasetCounts counts = dataset.counts();
  result.skipped = counts.skipped;
  result.bad_rows = std::move(counts.samples);
  for (size_t w = 1; w < metrics.size(); ++w) metrics[0].Merge(metrics[w]);
  Tell(metrics[0], specs.size() > predictor.metrics().size(), &result);
  return result;
}

}  // namespace flotilla
