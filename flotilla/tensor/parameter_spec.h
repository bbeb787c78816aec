// The learned parameters of a model: dense parameters and sparse tables, as plain values that
// communicators, servers and checkpoints read without knowing the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/tensor/initializer_spec.h"

namespace flotilla {

// Weight decay, added to the gradient inside the update rule: l2 * w + l1 * sign(w).
struct Decay {
  double l1 = 0;
  double l2 = 0;

  bool operator==(const Decay&) const = default;
};

// Attributes of any parameter. An empty `decay` means that of the optimizer.
struct ParameterAttributes {
  InitializerSpec init;
  double learning_rate_factor = 1;
  std::optional<Decay> decay;
  bool trainable = true;

  bool operator==(const ParameterAttributes&) const = default;
};

// A dense parameter: one tensor, stored contiguously in the communicator's flat block.
struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
  ParameterAttributes attributes;
  // 0: the model's optimizer updates it. Otherwise it is a statistic: its "gradient" is the value
  // observed in the batch, and w = keep * w + (1 - keep) * observed (batch norm's running mean,
  // variance).
  double moving_average_keep = 0;

  int64_t size() const {
    int64_t size = 1;
    for (int64_t dim : shape) size *= dim;
    return size;
  }
  bool operator==(const ParameterSpec&) const = default;
};

// A sparse table: rows of `dim` weights, keyed by id.
struct TableSpec {
  std::string name;
  int64_t dim = 1;
  // Number of rows when ids are known to lie in [0, rows); 0: any id, the table grows.
  int64_t rows = 0;
  ParameterAttributes attributes;
  // Keep 8 bytes of metadata per row: the number of pushes and the step of the last push.
  bool keep_meta = false;

  bool operator==(const TableSpec&) const = default;
};

}  // namespace flotilla
