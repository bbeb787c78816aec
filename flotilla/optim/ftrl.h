// FTRL-Proximal (McMahan et al., "Ad click prediction: a view from the trenches", 2013), per
// weight:
//   n' = n + g^2
//   z += rate * g - (n'^-lr_power - n^-lr_power) * w
//   w  = -soft(z, rate * l1) / (beta + n'^-lr_power + rate * l2)
// where soft(z, c) moves z towards zero by c and stops at zero: l1 yields weights that are exactly
// zero.
//
// Notes:
// - z is the z of the paper multiplied by the rate. With a constant rate the weights are the same;
//   with a schedule the weights do not change when the rate falls, instead of shrinking with it. l1
//   and l2 act in proportion to the current rate.
// - l2 is that of the paper; TensorFlow and Paddle use 2 * l2 in the same place, so halve it to
//   compare.
// - The paper starts from w = 0. Here a row's first value is the first centre of the proximal term:
//   its first update begins with z = -(beta + n^-lr_power) * w, which is zero for w = 0, so that
//   small random values of an embedding are not erased.
// OptimizerSpec::decay, if given, is applied inside g, as in every rule.
// State: n, then z. InitState sets n to initial_accumulator and z to zero.
#pragma once

#include "flotilla/optim/rule_entry.h"

namespace flotilla {

struct FtrlOptions {
  double l1 = 0;                   // >= 0
  double l2 = 0;                   // >= 0
  double beta = 1;                 // >= 0
  double lr_power = -0.5;          // [-1, 0]; -0.5 is the square root
  double initial_accumulator = 0;  // >= 0
};

OptimizerSpec Ftrl(Rate rate, FtrlOptions options = {});

// For the table in optimizers.h.
RuleEntry FtrlEntry();

}  // namespace flotilla
