// The lines of a training log in the format of PaddlePaddle's tutorials, so that people and scripts
// that know it find them. A line has no newline; unknown figures, and no bad batches, are left out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "flotilla/trainer/report.h"

namespace flotilla {

// "epoch 0 finished, use time=52.10, 31200 examples/s, loss=0.4512, auc=0.7812"; `unit` as in
// progress.h
std::string EpochFinishedLine(int64_t epoch, const Report& report, std::string_view unit = "rows");

// "epoch 0 test, use time=2.10, loss=0.4512, auc=0.7812"
std::string EpochTestLine(int64_t epoch, const Report& report);

// A value that is printed every print_period batches, on several lines:
//   Epoch 0 auc     auc_0
//           dim: 1
//           dtype: float
//           data: [0.626496]
// If there are many elements, only the first ones and the number of the others. `info` may be
// empty.
std::string FetchedText(std::string_view info, std::string_view name, std::span<const int64_t> dims,
                        std::span<const float> values);

}  // namespace flotilla
