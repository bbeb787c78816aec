#include "flotilla/base/share_pool.h"

#include <algorithm>
#include <cstddef>

namespace flotilla {

void SharePool::Deal(int count, int members, std::span<const int> taken) {
  free_.assign(static_cast<size_t>(count), true);
  left_.assign(static_cast<size_t>(members), 0);
  free_count_ = count;
  for (int share = 0; share < count; ++share) ++left_[static_cast<size_t>(share % members)];
  for (const int share : taken) {
    if (IsFree(share)) Remove(share);
  }
}

bool SharePool::IsFree(int share) const {
  return share >= 0 && static_cast<size_t>(share) < free_.size() &&
         free_[static_cast<size_t>(share)];
}

int SharePool::Remove(int share) {
  free_[static_cast<size_t>(share)] = false;
  --left_[static_cast<size_t>(share) % left_.size()];
  --free_count_;
  return share;
}

std::optional<int> SharePool::Take(std::span<const int> wanted, bool any) {
  for (const int share : wanted) {
    if (IsFree(share)) return Remove(share);
  }
  if (!any || free_count_ == 0) return std::nullopt;
  const auto slowest = std::max_element(left_.begin(), left_.end()) - left_.begin();
  int share = static_cast<int>(slowest);
  while (!IsFree(share)) share += static_cast<int>(left_.size());
  return Remove(share);
}

}  // namespace flotilla
