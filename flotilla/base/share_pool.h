// Numbered shares of some work, which members of a group take one after the other: first those that
// they prefer, then those that others have not begun, so that fast members help slow ones.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace flotilla {

// Not thread-safe.
class SharePool {
 public:
  // From now on the shares 0 .. count - 1 are free, except for those in `taken`. Share s belongs to
  // member s % members. REQUIRES: count >= 0, members > 0, taken shares are in range.
  void Deal(int count, int members, std::span<const int> taken);

  // Takes the first free share in `wanted`; if there is none and `any` is set, one of the member
  // that has the most free ones. No value: there is none. Numbers that are out of range are not
  // free.
  std::optional<int> Take(std::span<const int> wanted, bool any);

  int free() const { return free_count_; }

 private:
  bool IsFree(int share) const;
  int Remove(int share);

  std::vector<bool> free_;  // by share
  std::vector<int> left_;   // free shares by member
  int free_count_ = 0;
};

}  // namespace flotilla
