#include "flotilla/rpc/payload.h"

#include <algorithm>

namespace flotilla {

void Payload::Add(ByteSlice slice) {
  if (slice.size == 0) return;
  size_ += slice.size;
  slices_.push_back(std::move(slice));
}

void Payload::Add(Payload payload) {
  for (ByteSlice& slice : payload.slices_) Add(std::move(slice));
}

void Payload::AddCopy(const void* data, size_t size) {
  const auto* from = static_cast<const std::byte*>(data);
  auto owner = std::make_shared<const std::vector<std::byte>>(from, from + size);
  Add(SliceOf(owner, 0, size));
}

const std::byte* PayloadReader::ReadInPlace(size_t size, size_t align) {
  if (size > left_ || size == 0) return nullptr;
  const ByteSlice& slice = payload_.slices()[slice_];
  const std::byte* data = slice.data + at_;
  if (size > slice.size - at_ || reinterpret_cast<uintptr_t>(data) % align != 0) return nullptr;
  left_ -= size;
  at_ += size;
  if (at_ == slice.size) {
    ++slice_;
    at_ = 0;
  }
  return data;
}

void PayloadReader::ReadAcross(std::byte* to, size_t size) {
  left_ -= size;
  while (size > 0) {
    const ByteSlice& slice = payload_.slices()[slice_];
    const size_t count = std::min(size, slice.size - at_);
    std::memcpy(to, slice.data + at_, count);
    to += count;
    size -= count;
    at_ += count;
    if (at_ == slice.size) {
      ++slice_;
      at_ = 0;
    }
  }
}

}  // namespace flotilla
