// How an epoch's training data is divided among trainers. It is saved inside an epoch, so that
// another number of trainers can finish it: each then trains the rest of several shares, or of
// none.
//
// Either each trainer has one share, or there are more shares than trainers, which take them one
// after the other (dealt): first those whose number modulo the number of trainers is their own,
// then those that slower trainers have not begun.
#pragma once

#include <vector>

namespace flotilla {

struct EpochShares {
  int count = 0;         // 0: not divided; the rows of a trainer are its own
  bool by_size = false;  // by SliceFiles, otherwise by SplitFiles
  bool dealt = false;
  // The numbers of this trainer's shares, ascending, from 0; if they are dealt, of those that it
  // has begun.
  std::vector<int> own;

  bool operator==(const EpochShares&) const = default;
};

}  // namespace flotilla
