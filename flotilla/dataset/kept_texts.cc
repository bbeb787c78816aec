#include "flotilla/dataset/kept_texts.h"

#include <utility>

#include "flotilla/base/status.h"

namespace flotilla {

uint64_t KeptTexts::Add(std::string text) {
  MutexLock lock(mutex_);
  if (free_.empty()) {
    texts_.push_back(std::move(text));
    return texts_.size() - 1;
  }
  const uint64_t key = free_.back();
  free_.pop_back();
  texts_[key] = std::move(text);
  return key;
}

void KeptTexts::Take(std::span<const uint64_t> keys, std::vector<std::string>* texts) {
  texts->clear();
  MutexLock lock(mutex_);
  for (const uint64_t key : keys) {
    FL_CHECK(key < texts_.size());
    texts->push_back(std::exchange(texts_[key], {}));
    free_.push_back(key);
  }
}

}  // namespace flotilla
