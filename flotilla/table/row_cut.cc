#include "flotilla/table/row_cut.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flotilla {

RowCut::RowCut(const RowStore& store, std::vector<uint32_t> counts)
    : store_(store),
      stride_(store.layout().stride()),
      limit_(store.limit()),
      counts_(std::move(counts)),
      kept_(new std::atomic<uint64_t>[limit_ / 64 + 1]()),
      shards_(counts_.size()) {}

void RowCut::Keep(int shard_number, uint32_t row) {
  if (row >= limit_ || Kept(row)) return;
  Shard& shard = shards_[shard_number];
  MutexLock lock(shard.mutex);
  if (Kept(row)) return;
  if (!shard.done) {
    const size_t offset = shard.bytes.size();
    const std::byte* block = store_.block(row);
    shard.bytes.insert(shard.bytes.end(), block, block + stride_);
    shard.copies.emplace(row, offset);
  }
  // A thread that sees the bit may change the row: the copy is complete.
  kept_[row / 64].fetch_or(uint64_t{1} << (row % 64), std::memory_order_release);
}

void RowCut::CopyOut(const Shard& shard, std::span<const uint32_t> rows, std::byte* out) const {
  for (uint32_t row : rows) {
    const std::byte* from =
        Kept(row) ? shard.bytes.data() + shard.copies.at(row) : store_.block(row);
    std::memcpy(out, from, stride_);
    out += stride_;
  }
}

Status RowCut::Read(int shard_number, std::span<const uint32_t> rows,
                    const std::function<void(std::byte*)>& visit) {
  // The mutex blocks updates of the shard's unchanged rows, so it is held for a few rows at a time
  // and never while the visitor runs.
  constexpr size_t kRowsAtOnce = 64;
  Shard& shard = shards_[shard_number];
  if (shard.read.exchange(true)) {
    return FailedPrecondition("shard {} of the cut was already read", shard_number);
  }
  std::vector<std::byte> blocks(kRowsAtOnce * stride_);
  while (!rows.empty()) {
    const auto some = rows.first(std::min(kRowsAtOnce, rows.size()));
    {
      MutexLock lock(shard.mutex);
      CopyOut(shard, some, blocks.data());
    }
    for (size_t i = 0; i < some.size(); ++i) visit(blocks.data() + i * stride_);
    rows = rows.subspan(some.size());
  }
  MutexLock lock(shard.mutex);
  shard.done = true;
  // Not `= {}`, which clears a vector but keeps its memory.
  shard.copies = absl::flat_hash_map<uint32_t, size_t>();
  shard.bytes = std::vector<std::byte>();
  return absl::OkStatus();
}

size_t RowCut::memory_bytes() const {
  size_t bytes = (limit_ / 64 + 1) * sizeof(uint64_t);
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    bytes += sizeof(Shard) + shard.bytes.capacity() +
             shard.copies.capacity() * (sizeof(std::pair<uint32_t, size_t>) + 1);
  }
  return bytes;
}

}  // namespace flotilla
