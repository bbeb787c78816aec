// CTR-DNN: the click model of PaddlePaddle's tutorials. 26 category slots share one table; their
// rows and 13 numbers pass through fully connected layers to the probability of a click. Built with
// the public layers only, like a user's own model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

struct CtrDnnOptions {
  int64_t dim = 10;  // numbers per row of the table
  std::vector<int64_t> layers = {400, 400, 400};
  int64_t sparse_feature_dim = 1000001;  // rows of the table: ids are hashes below it
  double start_range = 0.01;             // rows start in [-start_range, start_range)
  double learning_rate = 1e-3;
  std::string optimizer = "adam";  // any rule that optim/ knows
};

// Named settings: "default", the values measured best (above), or "seeds", the exact values of the
// tutorials (rows start in [-1, 1), Adam 1e-4). An unknown name is an error that lists both.
StatusOr<CtrDnnOptions> CtrDnnRecipe(const std::string& name);

// Inputs "dense_input" (13), "C1" .. "C26", "label"; loss = sum over the batch of the cross
// entropy; metrics auc, logloss, accuracy. Bad options show in the graph's status.
Model CtrDnn(const CtrDnnOptions& options);

}  // namespace flotilla
