#include "flotilla/table/sparse_table.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace flotilla {

namespace {

// Beyond this, the hardware prefetcher has detected the stream.
constexpr size_t kMaxPrefetchBytes = 8 * kCacheLineBytes;
// Tables with more ids find rows by hash: a row number per id would take more memory than a few
// rows.
constexpr int64_t kMaxPlaces = int64_t{1} << 24;

template <int write>
void PrefetchBytes(const std::byte* from, size_t bytes) {
  // Includes the line of the last byte: a block may start anywhere in a line.
  for (size_t at = 0; at < bytes; at += kCacheLineBytes) __builtin_prefetch(from + at, write);
  __builtin_prefetch(from + bytes - 1, write);
}

// Rows are short: a call to memcpy costs more than the copy.
void CopyFloats(const float* from, size_t n, float* to) {
  constexpr size_t kStep = 4;
  if (n < kStep) {
    for (size_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) std::memcpy(to + i, from + i, kStep * sizeof(float));
  if (i < n) std::memcpy(to + n - kStep, from + n - kStep, kStep * sizeof(float));
}

Status CheckSpec(const TableSpec& spec) {
  constexpr int64_t kMaxDim = int64_t{1} << 20;
  if (spec.dim < 1 || spec.dim > kMaxDim) {
    return InvalidArgument("dim {} is not in [1, {}]", spec.dim, kMaxDim);
  }
  if (spec.rows < 0 || spec.rows > int64_t{RowStore::kMaxRows}) {
    return InvalidArgument("{} rows are not in [0, {}]", spec.rows, RowStore::kMaxRows);
  }
  return absl::OkStatus();
}

}  // namespace

SparseTable::SparseTable(const TableSpec& spec, uint64_t seed,
                         std::unique_ptr<const UpdateRule> rule, const Initializer& initializer,
                         Storage storage)
    : spec_(spec),
      key_(ParameterKey(seed, spec.name)),
      rule_(std::move(rule)),
      initializer_(initializer),
      store_(std::move(storage.store)),
      pull_bytes_(std::min(kMaxPrefetchBytes, RowLayout::kWeightsOffset +
                                                  sizeof(float) * static_cast<size_t>(spec.dim))),
      push_bytes_(std::min(kMaxPrefetchBytes, store_->layout().stride())),
      index_(std::move(storage.index)),
      places_(std::move(storage.places)) {
  for (int s = 0; s < kVirtualShards; ++s) {
    shards_.push_back(std::make_unique<Shard>(in_order() ? 1 : 64));
  }
}

StatusOr<std::unique_ptr<SparseTable>> SparseTable::Make(const TableSpec& spec, uint64_t seed,
                                                         std::unique_ptr<const UpdateRule> rule,
                                                         const TableOptions& options) {
  const std::string context = fmt::format("table {}", spec.name);
  if (Status status = CheckSpec(spec); !status.ok()) return Annotate(status, context);
  auto initializer = Initializer::Make(spec.attributes.init, FansOf(spec));
  if (!initializer.ok()) return Annotate(initializer.status(), context);
  auto storage = MakeStorage(spec, rule == nullptr ? 0 : rule->states(), options);
  if (!storage.ok()) return Annotate(storage.status(), context);
  return std::unique_ptr<SparseTable>(
      new SparseTable(spec, seed, std::move(rule), *initializer, *std::move(storage)));
}

StatusOr<SparseTable::Storage> SparseTable::MakeStorage(const TableSpec& spec, int states,
                                                        const TableOptions& options) {
  const RowLayout layout{.dim = spec.dim, .states = states, .keep_meta = spec.keep_meta};
  const bool in_order = options.in_order && spec.rows > 0;
  Storage storage;
  FL_ASSIGN_OR_RETURN(storage.store, RowStore::Make(layout, in_order ? spec.rows : 0, options));
  if (in_order) return storage;
  if (spec.rows > 0 && spec.rows <= kMaxPlaces) {
    FL_ASSIGN_OR_RETURN(storage.places, RowPlaces::Make(spec.rows, options.huge_pages));
  } else {
    FL_ASSIGN_OR_RETURN(storage.index, RowIndex::Make(options.huge_pages));
  }
  return storage;
}

Status SparseTable::CheckIds(std::span<const uint64_t> ids) const {
  if (spec_.rows == 0) return absl::OkStatus();
  for (uint64_t id : ids) {
    if (id >= static_cast<uint64_t>(spec_.rows)) {
      return InvalidArgument("table {}: id {} is not below its {} rows", spec_.name, id,
                             spec_.rows);
    }
  }
  return absl::OkStatus();
}

Status SparseTable::CheckRows(const RowsView& rows) const {
  if (rows.dim != spec_.dim) {
    return InvalidArgument("table {}: rows of dim {} for a table of dim {}", spec_.name, rows.dim,
                           spec_.dim);
  }
  if (rows.values.size() != rows.size() * static_cast<size_t>(spec_.dim)) {
    return InvalidArgument("table {}: {} values for {} ids of dim {}", spec_.name,
                           rows.values.size(), rows.size(), spec_.dim);
  }
  if (!rows.locations.empty() && rows.locations.size() != rows.size()) {
    return InvalidArgument("table {}: {} locations for {} ids", spec_.name, rows.locations.size(),
                           rows.size());
  }
  return CheckIds(rows.ids);
}

// At any time the slots of some groups and the rows of others are being fetched from memory, and
// one group is served from the cache.
template <typename Visit>
Status SparseTable::Walk(Hold& hold, std::span<const uint64_t> ids, Missing missing, Visit visit) {
  Group ring[kRing];
  const size_t groups = (ids.size() + kGroup - 1) / kGroup;
  for (size_t g = 0; g < groups + 2 * kLag; ++g) {
    if (g < groups) HashGroup(ids, g * kGroup, &ring[g % kRing]);
    if (g >= kLag && g - kLag < groups) ProbeGroup(ids, &ring[(g - kLag) % kRing]);
    if (g >= 2 * kLag) {
      Group& group = ring[(g - 2 * kLag) % kRing];
      FL_RETURN_IF_ERROR(SettleGroup(hold, ids, missing, &group));
      visit(group);
    }
  }
  return absl::OkStatus();
}

void SparseTable::HashGroup(std::span<const uint64_t> ids, size_t first, Group* group) const {
  group->first = first;
  group->count = std::min(kGroup, ids.size() - first);
  if (index_ != nullptr) {
    for (size_t i = 0; i < group->count; ++i) {
      const uint64_t mixed = Mix64(ids[first + i]);
      group->mixed[i] = mixed;
      index_->Prefetch(mixed);
    }
  } else if (places_ != nullptr) {
    for (size_t i = 0; i < group->count; ++i) places_->Prefetch(ids[first + i]);
  }
}

void SparseTable::ProbeGroup(std::span<const uint64_t> ids, Group* group) const {
  for (size_t i = 0; i < group->count; ++i) {
    const uint64_t id = ids[group->first + i];
    group->rows[i] = index_ != nullptr    ? index_->Probe(group->mixed[i])
                     : places_ != nullptr ? places_->Find(id)
                                          : static_cast<uint32_t>(id);
  }
  // A separate loop: few instructions between prefetches keep more of them in flight.
  for (size_t i = 0; i < group->count; ++i) {
    const uint32_t row = group->rows[i];
    if (row == kNoRow) continue;
    group->blocks[i] = store_->block(row);
    PrefetchBytes<0>(group->blocks[i], pull_bytes_);
  }
}

Status SparseTable::SettleGroup(Hold& hold, std::span<const uint64_t> ids, Missing missing,
                                Group* group) {
  for (size_t i = 0; i < group->count; ++i) {
    const uint64_t id = ids[group->first + i];
    uint32_t& row = group->rows[i];
    if (row != kNoRow && IdFieldOf(group->blocks[i]).load(std::memory_order_acquire) == id + 1)
        [[likely]] {
      continue;
    }
    // Either there is no row, or it is not in its home line, or the tag belonged to another id.
    const uint64_t mixed = Mix64(id);
    row = FindRow(id, mixed);
    if (row == kNoRow && missing == Missing::kCreate) {
      FL_ASSIGN_OR_RETURN(row, Create(hold, id, mixed));
    }
    if (row != kNoRow) group->blocks[i] = store_->block(row);
  }
  return absl::OkStatus();
}

uint32_t SparseTable::FindRow(uint64_t id, uint64_t mixed) const {
  const auto is_its_row = [this, id](uint32_t row) {
    return IdFieldOf(store_->block(row)).load(std::memory_order_acquire) == id + 1;
  };
  if (index_ != nullptr) return index_->Find(mixed, is_its_row);
  if (id >= static_cast<uint64_t>(spec_.rows)) return kNoRow;
  if (places_ != nullptr) return places_->Find(id);
  return is_its_row(static_cast<uint32_t>(id)) ? static_cast<uint32_t>(id) : kNoRow;
}

StatusOr<uint32_t> SparseTable::Create(Hold& hold, uint64_t id, uint64_t mixed) {
  for (;;) {
    {
      Shard& shard = *shards_[ShardOf(mixed)];
      MutexLock lock(shard.mutex);
      const uint32_t row = FindRow(id, mixed);
      if (row != kNoRow) return row;
      if (index_ == nullptr || index_->Reserve(mixed)) return Insert(shard, id, mixed);
    }
    FL_RETURN_IF_ERROR(Annotate(Grow(hold, mixed), fmt::format("table {}", spec_.name)));
  }
}

StatusOr<uint32_t> SparseTable::Insert(Shard& shard, uint64_t id, uint64_t mixed) {
  ShardRows& rows = shard.rows;
  if (rows.full()) {
    uint32_t first = static_cast<uint32_t>(id);
    if (!in_order()) {
      auto taken = store_->Take(rows.next_run());
      if (!taken.ok()) return Annotate(taken.status(), fmt::format("table {}", spec_.name));
      first = *taken;
    }
    rows.AddRun(first);
  }
  const uint32_t row = rows.next();
  InitRow(id, store_->block(row));
  if (index_ != nullptr) index_->Insert(mixed, row);
  if (places_ != nullptr) places_->Insert(id, row);
  rows.Commit();
  size_.fetch_add(1, std::memory_order_relaxed);
  return row;
}

void SparseTable::InitRow(uint64_t id, std::byte* block) const {
  float* weights = WeightsOf(block);
  initializer_.Fill(key_.With(id), spec_.dim, weights);
  if (rule_ != nullptr) rule_->InitState(spec_.dim, weights + spec_.dim);
  // With bounded ids this field marks the row as existing, so it is written last.
  IdFieldOf(block).store(id + 1, std::memory_order_release);
}

Status SparseTable::Grow(Hold& hold, uint64_t mixed) {
  hold.unlock();
  Status status;
  {
    std::unique_lock alone(gate_);
    status = index_->Grow(mixed);
  }
  hold.lock();
  return status;
}

Status SparseTable::Pull(Missing missing, SparseRows* rows) {
  FL_RETURN_IF_ERROR(CheckIds(rows->ids));
  rows->dim = spec_.dim;
  rows->values.resize(rows->size() * static_cast<size_t>(spec_.dim));
  rows->locations.resize(rows->size());
  Hold hold(gate_);
  return Walk(hold, rows->ids, missing, [&](const Group& group) { HogwildCopyOut(group, rows); });
}

[[gnu::noinline]] void SparseTable::HogwildCopyOut(const Group& group, SparseRows* out) const {
  const auto dim = static_cast<size_t>(spec_.dim);
  float* to = out->row(group.first);
  for (size_t i = 0; i < group.count; ++i, to += dim) {
    const uint32_t row = group.rows[i];
    out->locations[group.first + i] = row;
    if (row != kNoRow) {
      CopyFloats(WeightsOf(group.blocks[i]), dim, to);
    } else {
      initializer_.Fill(key_.With(out->ids[group.first + i]), spec_.dim, to);
    }
  }
}

StatusOr<std::span<const uint32_t>> SparseTable::Locate(Hold& hold, std::span<const uint64_t> ids,
                                                        std::span<const uint32_t> locations) {
  // A pull that created no row returned no location for it.
  const uint32_t limit = store_->limit();
  const auto usable = [limit](uint32_t location) { return location < limit; };
  if (!locations.empty() && std::all_of(locations.begin(), locations.end(), usable)) {
    return locations;
  }
  thread_local std::vector<uint32_t> found;
  found.resize(ids.size());
  FL_RETURN_IF_ERROR(Walk(hold, ids, Missing::kCreate, [&](const Group& group) {
    std::copy_n(group.rows.begin(), group.count, found.begin() + group.first);
  }));
  return std::span<const uint32_t>(found);
}

void SparseTable::PrefetchBlocks(std::span<const uint32_t> rows) const {
  for (uint32_t row : rows) PrefetchBytes<1>(store_->block(row), push_bytes_);
}

void SparseTable::KeepAside(std::span<const uint64_t> ids, std::span<const uint32_t> rows) const {
  if (cut_ == nullptr) return;
  for (size_t i = 0; i < ids.size(); ++i) cut_->Keep(VirtualShard(ids[i]), rows[i]);
}

Status SparseTable::Push(const RowsView& gradients, const UpdateContext& context) {
  FL_RETURN_IF_ERROR(CheckRows(gradients));
  if (rule_ == nullptr) return absl::OkStatus();
  const std::span<const uint64_t> ids = gradients.ids;
  Hold hold(gate_);
  FL_ASSIGN_OR_RETURN(const std::span<const uint32_t> rows, Locate(hold, ids, gradients.locations));
  // From here on the gate is held continuously: no cut can start between two groups.
  PrefetchBlocks(rows.first(std::min(kPushGroup, rows.size())));
  for (size_t first = 0; first < rows.size(); first += kPushGroup) {
    const size_t count = std::min(kPushGroup, rows.size() - first);
    const size_t next = first + count;
    PrefetchBlocks(rows.subspan(next, std::min(kPushGroup, rows.size() - next)));
    std::array<float*, kPushGroup> weights;
    for (size_t i = 0; i < count; ++i) {
      std::byte* block = store_->block(rows[first + i]);
      if (IdFieldOf(block).load(std::memory_order_relaxed) != ids[first + i] + 1) {
        return InvalidArgument("table {}: location {} is not the row of id {}", spec_.name,
                               rows[first + i], ids[first + i]);
      }
      weights[i] = WeightsOf(block);
    }
    KeepAside(ids.subspan(first, count), rows.subspan(first, count));
    HogwildApplyRows(context, gradients.row(first), std::span(weights).first(count));
  }
  return absl::OkStatus();
}

[[gnu::noinline]] void SparseTable::HogwildApplyRows(const UpdateContext& context,
                                                     const float* gradients,
                                                     std::span<float* const> rows) const {
  rule_->ApplyRows(context, spec_.dim, gradients, rows);
  if (!spec_.keep_meta) return;
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  const size_t meta_offset = layout().meta_offset();
  for (float* row : rows) {
    RowMeta meta;
    std::memcpy(&meta, BlockOf(row) + meta_offset, sizeof(meta));
    if (meta.pushes < kMost) ++meta.pushes;
    meta.last_step = static_cast<uint32_t>(std::min(kMost, context.step));
    std::memcpy(BlockOf(row) + meta_offset, &meta, sizeof(meta));
  }
}

Status SparseTable::WriteRows(const SparseRows& rows) {
  FL_RETURN_IF_ERROR(CheckRows(rows));
  Hold hold(gate_);
  FL_ASSIGN_OR_RETURN(const std::span<const uint32_t> found, Locate(hold, rows.ids, {}));
  KeepAside(rows.ids, found);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::byte* block = store_->block(found[i]);
    float* weights = WeightsOf(block);
    CopyFloats(rows.row(i), static_cast<size_t>(spec_.dim), weights);
    if (rule_ != nullptr) rule_->InitState(spec_.dim, weights + spec_.dim);
    if (spec_.keep_meta) std::memset(block + layout().meta_offset(), 0, sizeof(RowMeta));
  }
  return absl::OkStatus();
}

const float* SparseTable::Find(uint64_t id) const {
  Hold hold(gate_);
  const uint32_t row = FindRow(id, Mix64(id));
  return row == kNoRow ? nullptr : WeightsOf(store_->block(row));
}

Status SparseTable::OpenRows(std::span<const uint64_t> ids, RowsInPlace* out) {
  FL_RETURN_IF_ERROR(CheckIds(ids));
  Hold hold(gate_);
  FL_ASSIGN_OR_RETURN(const std::span<const uint32_t> rows, Locate(hold, ids, {}));
  KeepAside(ids, rows);
  out->locations_.assign(rows.begin(), rows.end());
  out->rows_.resize(ids.size());
  for (size_t i = 0; i < rows.size(); ++i) out->rows_[i] = WeightsOf(store_->block(rows[i]));
  out->hold_ = std::move(hold);
  return absl::OkStatus();
}

Status SparseTable::OpenAllRows(AllRowsInPlace* out) {
  if (!in_order()) {
    return FailedPrecondition("table {}: its rows cannot be opened together: {}", spec_.name,
                              spec_.rows == 0 ? "it grows" : "it was not created with in_order");
  }
  Hold hold(gate_);
  const auto rows = static_cast<uint64_t>(spec_.rows);
  for (uint64_t id = 0; size() < spec_.rows && id < rows; ++id) {
    FL_RETURN_IF_ERROR(Create(hold, id, Mix64(id)).status());
  }
  for (uint64_t id = 0; cut_ != nullptr && id < rows; ++id) {
    cut_->Keep(VirtualShard(id), static_cast<uint32_t>(id));
  }
  out->rows_ = {.first = WeightsOf(store_->block(0)),
                .rows = spec_.rows,
                .dim = spec_.dim,
                .stride = static_cast<int64_t>(layout().stride() / sizeof(float))};
  out->hold_ = std::move(hold);
  return absl::OkStatus();
}

std::vector<uint32_t> SparseTable::RowsOfShard(int shard_number, RowOrder order,
                                               uint32_t count) const {
  const Shard& shard = *shards_[shard_number];
  std::vector<std::pair<uint64_t, uint32_t>> ids;
  {
    MutexLock lock(shard.mutex);
    count = std::min(count, shard.rows.size());
    ids.reserve(count);
    shard.rows.ForEach(count, [&](uint32_t row) {
      ids.emplace_back(IdFieldOf(store_->block(row)).load(std::memory_order_relaxed) - 1, row);
    });
  }
  if (order == RowOrder::kAscendingId) std::sort(ids.begin(), ids.end());
  std::vector<uint32_t> rows(ids.size());
  std::transform(ids.begin(), ids.end(), rows.begin(),
                 [](const auto& pair) { return pair.second; });
  return rows;
}

RowView SparseTable::ViewOf(std::byte* block) const {
  const float* floats = WeightsOf(block);
  const auto dim = static_cast<size_t>(spec_.dim);
  const auto all = static_cast<size_t>(layout().floats());
  RowView view{.id = IdFieldOf(block).load(std::memory_order_relaxed) - 1,
               .weights = {floats, dim},
               .state = {floats + dim, all - dim},
               .meta = {}};
  if (spec_.keep_meta) std::memcpy(&view.meta, block + layout().meta_offset(), sizeof(RowMeta));
  return view;
}

void SparseTable::ForEachRow(int shard, RowOrder order,
                             const std::function<void(const RowView&)>& visit) const {
  for (uint32_t row : RowsOfShard(shard, order, kNoRow)) visit(ViewOf(store_->block(row)));
}

Status SparseTable::BeginCut() {
  std::unique_lock alone(gate_);
  if (cut_ != nullptr) return FailedPrecondition("table {}: a cut is active", spec_.name);
  std::vector<uint32_t> counts;
  for (const auto& shard : shards_) {
    MutexLock lock(shard->mutex);
    counts.push_back(shard->rows.size());
  }
  cut_ = std::make_unique<RowCut>(*store_, std::move(counts));
  return absl::OkStatus();
}

Status SparseTable::ReadCut(int shard, RowOrder order,
                            const std::function<void(const RowView&)>& visit) {
  RowCut* cut = nullptr;
  {
    // Held only briefly: a writer that waits for a slow visitor would block all training.
    Hold hold(gate_);
    cut = cut_.get();
  }
  if (cut == nullptr) return FailedPrecondition("table {}: no cut is active", spec_.name);
  const std::vector<uint32_t> rows = RowsOfShard(shard, order, cut->count(shard));
  const Status status = cut->Read(shard, rows, [&](std::byte* block) { visit(ViewOf(block)); });
  return Annotate(status, fmt::format("table {}", spec_.name));
}

void SparseTable::EndCut() {
  std::unique_lock alone(gate_);
  cut_.reset();
}

size_t SparseTable::memory_bytes() const {
  Hold hold(gate_);
  size_t bytes = sizeof(SparseTable) + store_->memory_bytes();
  if (index_ != nullptr) bytes += index_->memory_bytes();
  if (places_ != nullptr) bytes += places_->memory_bytes();
  for (const auto& shard : shards_) {
    MutexLock lock(shard->mutex);
    bytes += sizeof(shard) + sizeof(Shard) + shard->rows.memory_bytes();
  }
  return cut_ == nullptr ? bytes : bytes + cut_->memory_bytes();
}

double SparseTable::memory_per_row() const {
  const int64_t rows = size();
  return rows == 0 ? 0 : static_cast<double>(memory_bytes()) / static_cast<double>(rows);
}

}  // namespace flotilla
