// A hash table from words to numbers, for the two loops that process every word of a corpus:
// counting, and mapping words to ids. A lookup of a short word touches one cache line, whereas a
// general map needs the line of the slot and that of the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace flotilla {

// Words are copied; they are never removed. Not thread-safe, except for concurrent calls of Find.
class WordTable {
 public:
  WordTable();

  size_t size() const { return size_; }

  // The number of a word, 0 when it is new. The reference is valid until the next call.
  // REQUIRES: the words together have fewer than 2^40 bytes, each fewer than 2^24.
  uint64_t& operator[](std::string_view word) { return At(KeyOf(word), word); }
  // Null when the word is not in the table.
  const uint64_t* Find(std::string_view word) const;

  // Two-stage lookup for loops that can look ahead: call Prefetch a few words before the number is
  // needed, so that the memory is in the caches by then. The key stays valid forever.
  struct Key {
    uint64_t head;  // the first eight bytes, zero-padded
    uint64_t hash;
  };
  Key Prefetch(std::string_view word) const {
    const Key key = KeyOf(word);
    __builtin_prefetch(&slots_[key.hash & mask_]);
    return key;
  }
  // REQUIRES: the key belongs to the word.
  uint64_t& At(const Key& key, std::string_view word);

  // visit(word, hash, number) for every word, in no particular order. The hash is the same for the
  // same word in every table.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.length > 0) visit(WordOf(slot), slot.hash, slot.value);
    }
  }

 private:
  struct Slot {
    uint64_t head = 0;
    uint64_t hash = 0;
    uint64_t value = 0;
    uint64_t offset : 40 = 0;  // start of the whole word in bytes_
    uint64_t length : 24 = 0;  // 0: free, since there are no empty words
  };

  static Key KeyOf(std::string_view word);
  std::string_view WordOf(const Slot& slot) const {
    return {bytes_.data() + slot.offset, static_cast<size_t>(slot.length)};
  }
  bool Holds(const Slot& slot, const Key& key, std::string_view word) const;
  // The slot of the word, or the free slot where it would be inserted.
  size_t Locate(const Key& key, std::string_view word) const;
  void Grow();

  size_t size_ = 0;
  size_t mask_;
  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  std::vector<char> bytes_;
};

}  // namespace flotilla
