#include "flotilla/infer/evaluate.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "flotilla/base/first_error.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/infer/prediction_file.h"
#include "flotilla/metric/metric_set.h"
#include "flotilla/metric/worker_metrics.h"

namespace flotilla {
namespace {

// The model's metrics; if none of them is a calibration, followed by that of the first one that
// scores clicks.
StatusOr<std::vector<MetricSpec>> SpecsOf(const Predictor& predictor) {
  std::vector<MetricSpec> specs(predictor.metrics().begin(), predictor.metrics().end());
  FL_ASSIGN_OR_RETURN(const MetricSet metrics, MetricSet::Make(specs, predictor.fetches()));
  if (metrics.FindCalibration() != nullptr) return specs;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!metrics.metric(i).scores_clicks()) continue;
    specs.push_back(CalibrationSpec(specs[i].vars[0], specs[i].vars[1]));
    specs.back().weight = specs[i].weight;
    break;
  }
  return specs;
}

// The first `own` metrics are the model's.
void Tell(const MetricSet& metrics, size_t own, Evaluation* result) {
  result->metrics = metrics.Values();
  result->metrics.resize(own);
  result->metric_details = metrics.Details();
  result->hints = metrics.Hints();
  const CalibrationMeter* const calibration = metrics.FindCalibration();
  if (calibration == nullptr) return;
  result->calibration = calibration->Value();
  result->deciles = calibration->Deciles();
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

// One pass over a dataset. `file` may be null, and so may `kept`.
StatusOr<int64_t> Score(const Predictor& predictor, Dataset& dataset, int threads, KeptTexts* kept,
                        bool all_columns, WorkerMetrics* metrics, PredictionFile* file) {
  FL_RETURN_IF_ERROR(dataset.StartEpoch(0));
  FirstError error;
  std::atomic<int64_t> rows = 0;
  const auto score = [&](int worker) -> Status {
    Batch batch;
    std::vector<float> scores;
    std::vector<std::string> texts;
    while (!error.any()) {
      FL_ASSIGN_OR_RETURN(const bool more, dataset.Next(worker, &batch));
      if (!more) break;
      if (kept != nullptr) {
        kept->Take(batch.fields.back().ids.ids, &texts);
        batch.fields.pop_back();  // the model does not know it
      }
      FL_RETURN_IF_ERROR(predictor.Run(batch, [&](std::span<const FetchedValue> values) {
        metrics->Add(worker, batch.rows, values);
        if (file == nullptr) return;
        if (all_columns) {
          CopyColumns(values[0], &scores);
        } else {
          CopyScores(values[0], &scores);
        }
      }));
      rows += batch.rows;
      if (file != nullptr) FL_RETURN_IF_ERROR(file->Add(worker, batch.ordinal, scores, texts));
    }
    return absl::OkStatus();
  };
  WorkerPool(threads).Run([&](int worker) {
    error.Update(score(worker));
    if (file != nullptr) file->Leave(worker);
  });
  FL_RETURN_IF_ERROR(error.status());
  if (file != nullptr) FL_RETURN_IF_ERROR(file->Finish());
  return rows;
}

}  // namespace

double Evaluation::Metric(const std::string& name) const { return MetricValue(metrics, name); }

StatusOr<Evaluation> Evaluate(const Predictor& predictor, Dataset& dataset, const Clock& clock,
                              const EvaluateOptions& options) {
  const bool with_texts = options.kept != nullptr;
  FL_RETURN_IF_ERROR(CheckInputs(
      predictor.inputs(), dataset.inputs().first(dataset.inputs().size() - (with_texts ? 1 : 0))));
  FL_ASSIGN_OR_RETURN(const std::vector<MetricSpec> specs, SpecsOf(predictor));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<WorkerMetrics> metrics,
                      WorkerMetrics::Make(specs, predictor.fetches(), options.threads));
  std::unique_ptr<PredictionFile> file;
  const PredictionFileOptions file_options{
      .workers = options.threads, .scores = options.score_columns, .columns = options.kept_columns};
  if (options.predictions_stream != nullptr) {
    file = PredictionFile::ToStream(options.predictions_stream, file_options);
  } else if (!options.predictions.empty()) {
    FL_ASSIGN_OR_RETURN(file, PredictionFile::Make(options.predictions, file_options));
  }
  const int64_t start = clock.NowNanos();
  Evaluation result;
  FL_ASSIGN_OR_RETURN(result.rows,
                      Score(predictor, dataset, options.threads, options.kept.get(),
                            !options.score_columns.empty(), metrics.get(), file.get()));
  result.seconds = static_cast<double>(clock.NowNanos() - start) * 1e-9;
  DatasetCounts counts = dataset.counts();
  result.skipped = counts.skipped;
  result.bad_rows = std::move(counts.samples);
  FL_ASSIGN_OR_RETURN(MetricSet merged, MetricSet::Make(specs, predictor.fetches()));
  metrics->MergeTo(&merged);
  Tell(merged, predictor.metrics().size(), &result);
  return result;
}

}  // namespace flotilla
