#include "flotilla/table/row_store.h"

#include <algorithm>
#include <utility>

namespace flotilla {

RowStore::RowStore(const RowLayout& layout, size_t directory, const TableOptions& options)
    : layout_(layout),
      stride_(layout.stride()),
      options_(options),
      directory_(directory),
      chunks_(new std::atomic<std::byte*>[directory]()) {}

StatusOr<std::unique_ptr<RowStore>> RowStore::Make(const RowLayout& layout, int64_t fixed_rows,
                                                   const TableOptions& options) {
  const int64_t most = fixed_rows > 0 ? fixed_rows : int64_t{kMaxRows};
  const auto directory = static_cast<size_t>((most + kChunkRows - 1) >> kChunkShift);
  std::unique_ptr<RowStore> store(new RowStore(layout, directory, options));
  if (fixed_rows > 0) {
    MutexLock lock(store->mutex_);
    FL_RETURN_IF_ERROR(store->AddMemory(fixed_rows));
  }
  store->limit_.store(static_cast<uint32_t>(fixed_rows), std::memory_order_release);
  return store;
}

Status RowStore::AddMemory(int64_t rows) {
  const auto bytes = static_cast<size_t>(rows) * stride_ + layout_.first_offset();
  FL_ASSIGN_OR_RETURN(MappedMemory memory, MappedMemory::Make(bytes, options_.huge_pages));
  std::byte* chunk = memory.data() + layout_.first_offset();
  for (int64_t row = 0; row < rows; row += kChunkRows, chunk += kChunkRows * stride_) {
    chunks_[chunk_count_++].store(chunk, std::memory_order_release);
  }
  memory_.push_back(std::move(memory));
  return absl::OkStatus();
}

StatusOr<uint32_t> RowStore::Take(uint32_t count) {
  MutexLock lock(mutex_);
  const uint32_t first = limit_.load(std::memory_order_relaxed);
  if (count > kMaxRows - first) return ResourceExhausted("more than {} rows", kMaxRows);
  while (chunk_count_ * kChunkRows < uint64_t{first} + count) {
    FL_RETURN_IF_ERROR(AddMemory(kChunkRows));
  }
  limit_.store(first + count, std::memory_order_release);
  return first;
}

size_t RowStore::memory_bytes() const {
  // Rows are allocated in ascending order, so only the page of the last row is partly used.
  const size_t used = limit() * stride_;
  const size_t page = options_.huge_pages && used >= kHugePageBytes ? kHugePageBytes : 4096;
  return (used + page - 1) / page * page + directory_ * sizeof(std::byte*);
}

}  // namespace flotilla
