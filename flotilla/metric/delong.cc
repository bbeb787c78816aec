#include "flotilla/metric/delong.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace flotilla {
namespace {

bool IsPositive(float label) { return label > 0.5f; }

Status CheckRows(std::span<const float> scores_a, std::span<const float> scores_b,
                 std::span<const float> labels) {
  size_t positives = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    if (std::isnan(scores_a[row]) || std::isnan(scores_b[row]) || std::isnan(labels[row])) {
      return InvalidArgument("DeLong's test: row {} has the scores {} and {} and the label {}", row,
                             scores_a[row], scores_b[row], labels[row]);
    }
    positives += IsPositive(labels[row]) ? 1 : 0;
  }
  const size_t negatives = labels.size() - positives;
  if (positives >= 2 && negatives >= 2) return absl::OkStatus();
  return InvalidArgument(
      "DeLong's test: {} positives and {} negatives, at least two of each are needed", positives,
      negatives);
}

// The placement of every row: for a positive the fraction of negatives that it scores above, for a
// negative the fraction of positives that score above it; ties count half. The mean placement of
// the positives, and that of the negatives, is the AUC.
std::vector<double> Placements(std::span<const float> scores, std::span<const float> labels) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return scores[a] < scores[b]; });
  const auto positives =
      static_cast<double>(std::count_if(labels.begin(), labels.end(), IsPositive));
  const double negatives = static_cast<double>(labels.size()) - positives;
  std::vector<double> placements(scores.size());
  double positives_below = 0, negatives_below = 0;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double tied_positives = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end) {
      tied_positives += IsPositive(labels[order[end]]) ? 1 : 0;
    }
    const double tied_negatives = static_cast<double>(end - begin) - tied_positives;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t row = order[i];
      placements[row] = IsPositive(labels[row])
                            ? (negatives_below + tied_negatives / 2) / negatives
                            : 1 - (positives_below + tied_positives / 2) / positives;
    }
    positives_below += tied_positives;
    negatives_below += tied_negatives;
  }
  return placements;
}

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The squared standard error of the mean.
double MeanVariance(std::span<const double> values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  return sum / (count - 1) / count;
}

PairedDifference MakeDifference(double a, double b, double variance) {
  PairedDifference paired{.a = a, .b = b, .difference = a - b};
  paired.standard_error = std::sqrt(variance);
  if (paired.standard_error > 0) {
    paired.p_value = std::erfc(std::abs(paired.difference) / paired.standard_error / std::sqrt(2));
  } else {
    paired.p_value = paired.difference == 0 ? 1 : 0;
  }
  return paired;
}

}  // namespace

StatusOr<PairedDifference> DelongTest(std::span<const float> scores_a,
                                      std::span<const float> scores_b,
                                      std::span<const float> labels) {
  FL_CHECK(scores_a.size() == labels.size() && scores_b.size() == labels.size());
  FL_RETURN_IF_ERROR(CheckRows(scores_a, scores_b, labels));
  const std::vector<double> a = Placements(scores_a, labels);
  const std::vector<double> b = Placements(scores_b, labels);
  // The variance of the difference needs no covariances: it is that of the differences of the
  // placements, of positives and of negatives.
  std::vector<double> positives_a, positives_b, positives, negatives;
  for (size_t row = 0; row < labels.size(); ++row) {
    if (!IsPositive(labels[row])) {
      negatives.push_back(a[row] - b[row]);
      continue;
    }
    positives.push_back(a[row] - b[row]);
    positives_a.push_back(a[row]);
    positives_b.push_back(b[row]);
  }
  return MakeDifference(Mean(positives_a), Mean(positives_b),
                        MeanVariance(positives) + MeanVariance(negatives));
}

StatusOr<PairedDifference> PairedMeans(std::span<const double> losses_a,
                                       std::span<const double> losses_b) {
  FL_CHECK(losses_a.size() == losses_b.size());
  if (losses_a.size() < 2) {
    return InvalidArgument("paired means: {} rows, at least two are needed", losses_a.size());
  }
  std::vector<double> differences(losses_a.size());
  for (size_t row = 0; row < differences.size(); ++row) {
    differences[row] = losses_a[row] - losses_b[row];
    if (!std::isfinite(losses_a[row]) || !std::isfinite(losses_b[row])) {
      return InvalidArgument("paired means: row {} has the losses {} and {}", row, losses_a[row],
                             losses_b[row]);
    }
  }
  return MakeDifference(Mean(losses_a), Mean(losses_b), MeanVariance(differences));
}

}  // namespace flotilla
