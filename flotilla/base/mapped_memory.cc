#include "flotilla/base/mapped_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace flotilla {
namespace {

Status CannotMap(size_t bytes) {
  return ResourceExhausted("cannot map {} bytes: {}", bytes, std::strerror(errno));
}

}  // namespace

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

StatusOr<MappedMemory> MappedMemory::Make(size_t bytes, bool huge_pages) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (bytes + page - 1) / page * page;
  const size_t spare = size >= kHugePageBytes ? kHugePageBytes : 0;
  void* start = mmap(nullptr, size + spare, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return CannotMap(size + spare);
  auto* data = static_cast<std::byte*>(start);
  if (spare > 0) {
    const size_t past = reinterpret_cast<uintptr_t>(data) % kHugePageBytes;
    const size_t head = past == 0 ? 0 : kHugePageBytes - past;
    if (head > 0) munmap(data, head);
    data += head;
    if (spare > head) munmap(data + size, spare - head);
    if (huge_pages) madvise(data, size, MADV_HUGEPAGE);
  }
  return MappedMemory(data, size);
}

StatusOr<MappedMemory> MappedMemory::MakeShared(int file, size_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) return CannotMap(bytes);
  return MappedMemory(static_cast<std::byte*>(data), bytes);
}

}  // namespace flotilla
