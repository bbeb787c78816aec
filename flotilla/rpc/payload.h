// The bytes of a message: a list of slices anywhere in memory, each with an owner that keeps it
// alive. The codec builds messages from them, transports carry them without looking inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// The bytes must not change while any copy of the slice exists, unless it does not matter when they
// are read, as with parameters that others update. An empty owner means that the bytes live
// forever.
struct ByteSlice {
  const std::byte* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;
};

// The elements [begin, begin + count) of a vector-like object that the slice keeps alive.
template <typename Vector>
ByteSlice SliceOf(const std::shared_ptr<const Vector>& vector, size_t begin, size_t count) {
  using Element = typename Vector::value_type;
  FL_CHECK(begin + count <= vector->size());
  return {reinterpret_cast<const std::byte*>(vector->data() + begin), count * sizeof(Element),
          vector};
}

// Copyable: copies share the bytes. Not thread-safe, but different copies may be used concurrently.
class Payload {
 public:
  Payload() = default;
  Payload(const Payload&) = default;
  Payload& operator=(const Payload&) = default;
  // A moved-from payload is empty.
  Payload(Payload&& other) noexcept
      : slices_(std::exchange(other.slices_, {})), size_(std::exchange(other.size_, 0)) {}
  Payload& operator=(Payload&& other) noexcept {
    slices_ = std::exchange(other.slices_, {});
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // Empty slices are ignored.
  void Add(ByteSlice slice);
  void Add(Payload payload);
  // The bytes are copied.
  void AddCopy(const void* data, size_t size);

  size_t size() const { return size_; }
  const std::vector<ByteSlice>& slices() const { return slices_; }

 private:
  std::vector<ByteSlice> slices_;
  size_t size_ = 0;
};

// Reads a payload from front to back. Not thread-safe.
class PayloadReader {
 public:
  PayloadReader() = default;
  explicit PayloadReader(Payload payload) : payload_(std::move(payload)), left_(payload_.size()) {}

  size_t left() const { return left_; }
  // Copies the next `size` bytes. Returns false, and reads nothing, if fewer are left.
  bool Read(void* to, size_t size) {
    if (size > left_) return false;
    if (size == 0) return true;
    // Fast path: within a slice, as nearly always, and small, as rows are.
    if (slice_ < payload_.slices().size() && size < payload_.slices()[slice_].size - at_) {
      std::memcpy(to, payload_.slices()[slice_].data + at_, size);
      at_ += size;
      left_ -= size;
      return true;
    }
    ReadAcross(static_cast<std::byte*>(to), size);
    return true;
  }
  // The next bytes in place, valid as long as the payload. Returns null, and reads nothing, if they
  // are not contiguous and aligned to `align`, or if fewer are left.
  const std::byte* ReadInPlace(size_t size, size_t align);

 private:
  void ReadAcross(std::byte* to, size_t size);

  Payload payload_;
  size_t slice_ = 0;
  size_t at_ = 0;  // in that slice
  size_t left_ = 0;
};

}  // namespace flotilla
