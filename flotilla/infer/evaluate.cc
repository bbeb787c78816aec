#include "flotilla/infer/evaluate.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "flotilla/base/worker_pool.h"
#include "flotilla/infer/prediction_file.h"
#include "flotilla/metric/metric.h"

namespace flotilla {
namespace {

// The metrics of one worker, with one more behind the model's own: calibration, if the model has
// an AUC.
class Meters {
 public:
  static StatusOr<Meters> Make(const Predictor& predictor) {
    Meters meters;
    for (const MetricSpec& spec : predictor.metrics()) {
      FL_RETURN_IF_ERROR(meters.Add(spec, predictor));
    }
    for (const MetricSpec& spec : predictor.metrics()) {
      if (spec.kind != "auc") continue;
      FL_RETURN_IF_ERROR(meters.Add(CalibrationSpec(spec.vars[0], spec.vars[1]), predictor));
      meters.calibration_ =
          static_cast<const CalibrationMeter*>(meters.entries_.back().metric.get());
      break;
    }
    return meters;
  }

  void Count(int64_t rows, std::span<const FetchedValue> values) {
    for (Entry& entry : entries_) {
      inputs_.clear();
      for (const int place : entry.places) {
        inputs_.push_back({values[place].values, values[place].row_size});
      }
      entry.metric->Add(rows, inputs_);
    }
  }

  void Merge(const Meters& other) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      FL_CHECK(entries_[i].metric->Merge(other.entries_[i].metric->State()).ok());
    }
  }

  void Tell(Evaluation* result) const {
    const size_t own = entries_.size() - (calibration_ != nullptr ? 1 : 0);
    for (size_t i = 0; i < own; ++i) {
      const Entry& entry = entries_[i];
      result->metrics.emplace_back(entry.name, entry.metric->Value());
      const std::string hint = entry.metric->Hint();
      if (hint.empty()) continue;
      result->hints.push_back(
          fmt::format("{} is {:.4f}: {}", entry.name, entry.metric->Value(), hint));
    }
    if (calibration_ == nullptr) return;
    result->calibration = calibration_->Value();
    result->deciles = calibration_->Deciles();
  }

 private:
  struct Entry {
    std::string name;
    std::vector<int> places;  // in Predictor::fetches()
    std::unique_ptr<Metric> metric;
  };

  Status Add(const MetricSpec& spec, const Predictor& predictor) {
    Entry entry{.name = spec.name, .places = {}, .metric = nullptr};
    FL_ASSIGN_OR_RETURN(entry.metric, MakeMetric(spec));
    const std::span<const int> fetches = predictor.fetches();
    for (const int var : spec.vars) {
      const auto place = std::find(fetches.begin(), fetches.end(), var);
      FL_CHECK(place != fetches.end());
      entry.places.push_back(static_cast<int>(place - fetches.begin()));
    }
    entries_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  std::vector<Entry> entries_;
  const CalibrationMeter* calibration_ = nullptr;  // the last of entries_
  std::vector<MetricInput> inputs_;                // reused by Count
};

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

// One pass over a dataset; the workers' part of Evaluate.
class Pass {
 public:
  Pass(const Predictor& predictor, Dataset& dataset, PredictionFile* file)
      : predictor_(predictor), dataset_(dataset), file_(file) {}

  void Work(int worker, Meters* meters) {
    Status status = Score(worker, meters);
    if (file_ != nullptr) file_->Leave(worker);
    if (status.ok()) return;
    std::lock_guard lock(mutex_);
    if (first_error_.ok()) first_error_ = std::move(status);
    failed_ = true;
  }

  // Once every worker has ended.
  const Status& status() const { return first_error_; }
  int64_t rows() const { return rows_; }

 private:
  Status Score(int worker, Meters* meters) {
    Batch batch;
    std::vector<float> scores;
    while (!failed_.load(std::memory_order_relaxed)) {
      FL_ASSIGN_OR_RETURN(const bool more, dataset_.Next(worker, &batch));
      if (!more) break;
      FL_RETURN_IF_ERROR(predictor_.Run(batch, [&](std::span<const FetchedValue> values) {
        meters->Count(batch.rows, values);
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
  std::mutex mutex_;
  Status first_error_;  // guarded by mutex_
};

}  // namespace

double Evaluation::Metric(const std::string& name) const {
  for (const auto& [key, value] : metrics) {
    if (key == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

StatusOr<Evaluation> Evaluate(const Predictor& predictor, Dataset& dataset, const Clock& clock,
                              const EvaluateOptions& options) {
  FL_RETURN_IF_ERROR(CheckInputs(predictor.inputs(), dataset.inputs()));
  std::vector<Meters> meters;
  for (int w = 0; w < options.threads; ++w) {
    FL_ASSIGN_OR_RETURN(Meters worker, Meters::Make(predictor));
    meters.push_back(std::move(worker));
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
  WorkerPool(options.threads).Run([&](int w) { pass.Work(w, &meters[w]); });
  FL_RETURN_IF_ERROR(pass.status());
  if (file != nullptr) FL_RETURN_IF_ERROR(file->Finish());
  Evaluation result;
  result.seconds = static_cast<double>(clock.NowNanos() - start) * 1e-9;
  result.rows = pass.rows();
  DatasetCounts counts = dataset.counts();
  result.skipped = counts.skipped;
  result.bad_rows = std::move(counts.samples);
  for (size_t w = 1; w < meters.size(); ++w) meters[0].Merge(meters[w]);
  meters[0].Tell(&result);
  return result;
}

}  // namespace flotilla
