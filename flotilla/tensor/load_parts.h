// The parts of a saved model that a server loads.
#pragma once

#include <vector>

namespace flotilla {

// Indices in the model. The names and shapes must match those of the saved model.
struct LoadParts {
  std::vector<int> tables;  // which must be empty
  std::vector<int> parameters;
  bool optimizer_state = true;  // otherwise only weights
  bool go_on = true;            // continue from the model's global step; otherwise from 0
};

}  // namespace flotilla
