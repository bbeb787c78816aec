#include "flotilla/run/compare_models.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace flotilla {
namespace {

// The least probability that is distinguished from 0: its logarithm is finite.
constexpr double kLeast = 1e-9;

double LogOf(float probability) {
  // NaN stays NaN: the comparison reports it.
  return std::log(probability < kLeast ? kLeast : static_cast<double>(probability));
}

double LogOdds(float probability) { return LogOf(probability) - LogOf(1 - probability); }

// The losses of the rows: squared errors, or the negative logarithm of the label's probability.
std::vector<double> RowLosses(const LabelledRows& rows, std::span<const float> prediction) {
  std::vector<double> losses(rows.labels.size());
  for (size_t row = 0; row < losses.size(); ++row) {
    if (rows.task == LabelTask::kRegression) {
      const double error = static_cast<double>(prediction[row]) - rows.labels[row];
      losses[row] = error * error;
      continue;
    }
    const auto label = std::clamp<int64_t>(std::llround(rows.labels[row]), 0, rows.columns - 1);
    losses[row] = -LogOf(prediction[row * rows.columns + label]);
  }
  return losses;
}

// From mean squared errors to their roots. (a - b) = (sqrt(a) - sqrt(b)) * (sqrt(a) + sqrt(b)).
PairedDifference RootsOf(const PairedDifference& squares) {
  PairedDifference roots = squares;
  roots.a = std::sqrt(squares.a);
  roots.b = std::sqrt(squares.b);
  const double sum = roots.a + roots.b;
  roots.difference = sum > 0 ? squares.difference / sum : 0;
  roots.standard_error = sum > 0 ? squares.standard_error / sum : 0;
  return roots;
}

void MeanOfClasses(std::span<const float> a, std::span<const float> b, std::span<float> mean) {
  double sum = 0;
  std::vector<double> weights(mean.size());
  for (size_t c = 0; c < mean.size(); ++c) {
    sum += weights[c] = std::exp((LogOf(a[c]) + LogOf(b[c])) / 2);
  }
  for (size_t c = 0; c < mean.size(); ++c) mean[c] = static_cast<float>(weights[c] / sum);
}

}  // namespace

LabelledRows LabelledRows::Of(const InMemoryDataset& rows, const LabelFeature& label) {
  LabelledRows labelled{.task = label.task};
  if (label.task == LabelTask::kClasses) labelled.columns = label.classes;
  const std::span<const InputSpec> inputs = rows.inputs();
  const auto input = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const InputSpec& spec) { return spec.name == label.input; });
  FL_CHECK(input != inputs.end());
  const Batch copy = rows.CopyRows();
  const auto& values = copy.fields[input - inputs.begin()].values;
  labelled.labels.assign(values.begin(), values.end());
  return labelled;
}

StatusOr<ModelComparison> CompareModels(const LabelledRows& rows, std::span<const float> a,
                                        std::span<const float> b) {
  const size_t size = rows.labels.size() * static_cast<size_t>(rows.columns);
  FL_CHECK(a.size() == size && b.size() == size);
  if (rows.task == LabelTask::kClick) {
    FL_ASSIGN_OR_RETURN(const PairedDifference auc, DelongTest(a, b, rows.labels));
    return ModelComparison{"auc", auc, auc.difference};
  }
  FL_ASSIGN_OR_RETURN(const PairedDifference losses,
                      PairedMeans(RowLosses(rows, a), RowLosses(rows, b)));
  if (rows.task == LabelTask::kClasses) {
    return ModelComparison{"logloss", losses, -losses.difference};
  }
  const PairedDifference roots = RootsOf(losses);
  return ModelComparison{"rmse", roots, -roots.difference};
}

std::vector<float> MeanPrediction(const LabelledRows& rows, std::span<const float> a,
                                  std::span<const float> b) {
  const size_t size = rows.labels.size() * static_cast<size_t>(rows.columns);
  FL_CHECK(a.size() == size && b.size() == size);
  std::vector<float> mean(size);
  if (rows.task == LabelTask::kClasses) {
    const auto columns = static_cast<size_t>(rows.columns);
    for (size_t at = 0; at < size; at += columns) {
      MeanOfClasses(a.subspan(at, columns), b.subspan(at, columns),
                    std::span(mean).subspan(at, columns));
    }
    return mean;
  }
  for (size_t row = 0; row < size; ++row) {
    mean[row] =
        rows.task == LabelTask::kRegression
            ? (a[row] + b[row]) / 2
            : static_cast<float>(1 / (1 + std::exp(-(LogOdds(a[row]) + LogOdds(b[row])) / 2)));
  }
  return mean;
}

}  // namespace flotilla
