// Paired comparisons of two models on the same rows: is the difference of their metrics more than
// chance? Errors of two models on the same rows are correlated, so the standard error of the
// difference is usually much smaller than that of either value.
//
// Every row counts once: sample weights are not supported, because the test needs the number of
// independent rows, which weights do not tell.
#pragma once

#include <span>

#include "flotilla/base/status.h"

namespace flotilla {

// Values a and b of two models.
struct PairedDifference {
  double a = 0;
  double b = 0;
  double difference = 0;      // a - b
  double standard_error = 0;  // of the difference
  // Two-sided, by the normal approximation: the probability of a difference at least this large if
  // the models were equally good. If the standard error is 0: 1 without a difference, 0 with one.
  double p_value = 1;
};

// The AUC of two models and DeLong's test of their difference (DeLong et al., Biometrics 1988), in
// O(n log n) time. Tied scores of a positive and a negative count half. A label above 0.5 is
// positive. InvalidArgument if a score or label is NaN, or if there are fewer than two positives or
// two negatives. REQUIRES: the spans are of one size.
StatusOr<PairedDifference> DelongTest(std::span<const float> scores_a,
                                      std::span<const float> scores_b,
                                      std::span<const float> labels);

// The mean losses of two models, given per row, and the paired test of their difference.
// InvalidArgument if a loss is not finite or if there are fewer than two rows. REQUIRES: the spans
// are of one size.
StatusOr<PairedDifference> PairedMeans(std::span<const double> losses_a,
                                       std::span<const double> losses_b);

}  // namespace flotilla
