// Compares the predictions of models for the same rows: the values of the metric that their label
// asks for, and whether they differ by more than chance (metric/delong.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/metric/delong.h"
#include "flotilla/schema/features.h"

namespace flotilla {

// The rows that models are compared on.
struct LabelledRows {
  LabelTask task = LabelTask::kClick;
  int64_t columns = 1;        // of a prediction: for classes, their number
  std::vector<float> labels;  // one per row

  // The rows of a dataset in their present order. REQUIRES: the dataset has the label's input.
  static LabelledRows Of(const InMemoryDataset& rows, const LabelFeature& label);
};

struct ModelComparison {
  std::string_view metric;  // "auc" of clicks, "rmse" of numbers, "logloss" of classes
  PairedDifference values;  // of the metric
  double gain = 0;          // how much better the first model is; below 0: worse
};

// A prediction is (rows, columns): the probability of a click, a number, or the probability of each
// class. Errors as DelongTest and PairedMeans. Sample weights are not used. REQUIRES: the sizes
// fit.
StatusOr<ModelComparison> CompareModels(const LabelledRows& rows, std::span<const float> a,
                                        std::span<const float> b);

// The prediction of the mean of two models: of their logits, or of the numbers that they predict.
// REQUIRES: the sizes fit.
std::vector<float> MeanPrediction(const LabelledRows& rows, std::span<const float> a,
                                  std::span<const float> b);

}  // namespace flotilla
