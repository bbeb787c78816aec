#include "flotilla/corpus/word_table.h"

#include <cstring>

#include "flotilla/base/hash.h"
#include "flotilla/base/status.h"

namespace flotilla {
namespace {

constexpr size_t kFirstSlots = size_t{1} << 12;
constexpr uint64_t kWordBytesBound = uint64_t{1} << 24;
constexpr uint64_t kTableBytesBound = uint64_t{1} << 40;

template <typename T>
uint64_t LoadBytes(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// The first eight bytes of a word, or all of a shorter one, without reading past its end.
uint64_t HeadOf(std::string_view word) {
  const char* p = word.data();
  const size_t n = word.size();
  if (n >= 8) return LoadBytes<uint64_t>(p);
  if (n >= 4) return LoadBytes<uint32_t>(p) | LoadBytes<uint32_t>(p + n - 4) << (8 * (n - 4));
  const auto byte = [&](size_t i) { return uint64_t{static_cast<uint8_t>(p[i])} << (8 * i); };
  return n == 0 ? 0 : byte(0) | byte(n / 2) | byte(n - 1);
}

}  // namespace

WordTable::WordTable() : mask_(kFirstSlots - 1), slots_(kFirstSlots) {}

WordTable::Key WordTable::KeyOf(std::string_view word) {
  const uint64_t head = HeadOf(word);
  if (word.size() > 16) return {head, HashBytes(word)};
  const uint64_t tail = word.size() > 8 ? LoadBytes<uint64_t>(word.data() + word.size() - 8) : 0;
  return {head, Mix64(head ^ Mix64(tail + word.size()))};
}

bool WordTable::Holds(const Slot& slot, const Key& key, std::string_view word) const {
  if (slot.hash != key.hash || slot.head != key.head || slot.length != word.size()) return false;
  return word.size() <= 8 || WordOf(slot) == word;
}

size_t WordTable::Locate(const Key& key, std::string_view word) const {
  size_t at = key.hash & mask_;
  while (slots_[at].length > 0 && !Holds(slots_[at], key, word)) at = (at + 1) & mask_;
  return at;
}

uint64_t& WordTable::At(const Key& key, std::string_view word) {
  size_t at = Locate(key, word);
  if (slots_[at].length > 0) return slots_[at].value;
  FL_CHECK(!word.empty() && word.size() < kWordBytesBound);
  FL_CHECK(bytes_.size() + word.size() < kTableBytesBound);
  if (2 * ++size_ > slots_.size()) {
    Grow();
    at = Locate(key, word);
  }
  Slot& slot = slots_[at];
  slot.head = key.head;
  slot.hash = key.hash;
  slot.offset = bytes_.size();
  slot.length = word.size();
  bytes_.insert(bytes_.end(), word.begin(), word.end());
  return slot.value;
}

const uint64_t* WordTable::Find(std::string_view word) const {
  const Slot& slot = slots_[Locate(KeyOf(word), word)];
  return slot.length > 0 ? &slot.value : nullptr;
}

void WordTable::Grow() {
  std::vector<Slot> old(2 * slots_.size());
  std::swap(old, slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.length == 0) continue;
    size_t at = slot.hash & mask_;
    while (slots_[at].length > 0) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

}  // namespace flotilla
