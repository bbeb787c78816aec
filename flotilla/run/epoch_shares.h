// How an epoch's training data is divided among trainers. It is saved inside an epoch, so that
// another number of trainers can finish it: each then trains the rest of several shares, or of
// none.
#pragma once

#include <vector>

namespace flotilla {

struct EpochShares {
  int count = 0;         // 0: not divided; the rows of a trainer are its own
  bool by_size = false;  // by SliceFiles, otherwise by SplitFiles
  std::vector<int> own;  // the numbers of this trainer's shares, ascending, from 0

  bool operator==(const EpochShares&) const = default;
};

}  // namespace flotilla
