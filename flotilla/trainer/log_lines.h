// The lines of a training log in the words of the original's tutorials, so that eyes and scripts
// that know them find them. A line has no end; what is not known is left out.
#pragma once

#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/trainer/report.h"

namespace flotilla {

// "file list: ['train_data/part-0', 'train_data/part-1']"; of very many files the first ones and
// their number.
std::string FileListLine(std::span<const std::string> files);

// "epoch 0 finished, use time=52.10, 31200 examples/s, loss=0.4512, auc=0.7812"
std::string EpochFinishedLine(int64_t epoch, const Report& report);

// "epoch 0 test, use time=2.10, loss=0.4512, auc=0.7812"
std::string EpochTestLine(int64_t epoch, const Report& report);

// "TRAIN --> pass: 0 batch: 10 loss: 0.588124 auc: 0.497622, batch_auc: 0.496669"
std::string TrainBatchLine(const Progress& progress);

// "TEST --> batch: 100 loss: 0.539516 auc: 0.634640"
std::string TestBatchLine(int64_t batch, double loss, double auc);

// What a fetch handler is told: "epoch -> 0, auc -> 0.626496, at: Thu Oct 24 08:53:35 2019", in
// local time.
std::string FetchHandlerLine(int64_t epoch, std::span<const std::pair<std::string, double>> values,
                             std::time_t now);

// A value that is printed every print_period batches, on several lines:
//   Epoch 0 auc     auc_0
//           dim: 1
//           dtype: float
//           data: [0.626496]
// Of many elements the first ones and how many more there are. `info` may be empty.
std::string FetchedText(std::string_view info, std::string_view name, std::span<const int64_t> dims,
                        std::span<const float> values);

}  // namespace flotilla
