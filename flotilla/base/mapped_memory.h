// Memory mapped directly from the operating system, backed by pages only where it was touched:
// zeros of this process (the rows and indexes of tables), or a file shared with other processes
// (tensors on their way to another process, turns).
#pragma once

#include <cstddef>

#include "flotilla/base/status.h"

namespace flotilla {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Move-only owner of one mapping.
class MappedMemory {
 public:
  MappedMemory() = default;
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&& other) noexcept;
  ~MappedMemory();

  // Maps at least `bytes` bytes of zeros, aligned to a huge page if `bytes` is at least one huge
  // page. With huge_pages the operating system is asked to back such a mapping with huge pages; it
  // may decline. Error when the address space is exhausted. REQUIRES: bytes > 0.
  static StatusOr<MappedMemory> Make(size_t bytes, bool huge_pages);

  // Maps the first `bytes` bytes of an open file, for reading and writing, shared with the other
  // processes that map it. The descriptor may be closed afterwards. Error when the operating system
  // declines. REQUIRES: bytes > 0.
  static StatusOr<MappedMemory> MakeShared(int file, size_t bytes);

  std::byte* data() const { return data_; }
  // Of Make: rounded up to whole pages.
  size_t size() const { return size_; }

 private:
  MappedMemory(std::byte* data, size_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace flotilla
