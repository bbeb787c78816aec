// The texts of columns that are written beside the scores of their rows. A parser stores them here
// and passes only their key on, as the id of one more input, so that texts stay with their rows on
// the way through datasets, which know nothing of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla {

// Thread-safe. Its memory is that of the texts that were not taken yet.
class KeptTexts {
 public:
  // Stores a text. Its key is not that of another stored text.
  uint64_t Add(std::string text);

  // Moves the texts of these keys to *texts, in their order. REQUIRES: Add returned each of the
  // keys, and it was not taken since.
  void Take(std::span<const uint64_t> keys, std::vector<std::string>* texts);

 private:
  Mutex mutex_;
  std::vector<std::string> texts_ FL_GUARDED_BY(mutex_);  // by key
  std::vector<uint64_t> free_ FL_GUARDED_BY(mutex_);      // keys of taken texts
};

}  // namespace flotilla
