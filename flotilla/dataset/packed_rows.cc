#include "flotilla/dataset/packed_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

#include "flotilla/base/aligned_vector.h"

namespace flotilla {
namespace {

constexpr int64_t kGuideRows = 1024;
// Rows are copied in tiles, column by column: a tile and the ends of the columns fit the L1 cache.
constexpr int64_t kTileRows = 64;
constexpr size_t kAlignBytes = 8;
constexpr size_t kWordBytes = 4;
constexpr size_t kMinBlockBytes = size_t{64} << 10;
constexpr size_t kMaxBlockBytes = size_t{32} << 20;
// Less than the 2^32 words that the beginnings of rows can count.
constexpr size_t kMaxRunBytes = size_t{1} << 30;

size_t AlignedBytes(size_t bytes) { return (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes; }

}  // namespace

PackedRows::PackedRows(std::span<const InputSpec> inputs) : inputs_(inputs.begin(), inputs.end()) {
  SetLayout(std::vector<Form>(inputs_.size()));
}

void PackedRows::SetLayout(std::vector<Form> forms) {
  forms_ = std::move(forms);
  columns_.clear();
  bag_fields_.clear();
  fixed_bytes_ = 0;
  using Kind = Column::Kind;
  const auto kind_of = [&](size_t f) {
    if (inputs_[f].kind != InputKind::kIds) return Kind::kNumbers;
    return forms_[f] == Form::kNarrow ? Kind::kNarrowIds : Kind::kIds;
  };
  // Whole ids come first, so that they are aligned.
  for (const Kind kind : {Kind::kIds, Kind::kNarrowIds, Kind::kNumbers}) {
    for (size_t f = 0; f < inputs_.size(); ++f) {
      if (kind_of(f) != kind) continue;
      if (forms_[f] > Form::kFixed) {
        bag_fields_.push_back(f);
        continue;
      }
      const auto width = static_cast<uint32_t>(kind == Kind::kNumbers ? inputs_[f].width : 1);
      columns_.push_back({f, kind, fixed_bytes_, width});
      const size_t value_bytes = kind == Kind::kIds ? sizeof(uint64_t) : kWordBytes;
      fixed_bytes_ += width * static_cast<uint32_t>(value_bytes);
    }
  }
}

PackedRows::Form PackedRows::FormOf(size_t f, const Batch& batch, int64_t begin,
                                    int64_t end) const {
  if (inputs_[f].kind != InputKind::kIds) return Form::kNarrow;
  const RaggedIds& ids = batch.fields[f].ids;
  if (!ids.weights.empty()) return Form::kWeighted;
  if (!ids.one_per_row()) return Form::kBag;
  uint64_t any = 0;
  for (int64_t row = begin; row < end; ++row) any |= ids.ids[row];
  return any > std::numeric_limits<uint32_t>::max() ? Form::kFixed : Form::kNarrow;
}

Status PackedRows::Widen(const std::vector<Form>& forms) {
  std::vector<Form> all = forms;
  for (size_t f = 0; f < all.size(); ++f) all[f] = std::max(all[f], forms_[f]);
  if (all == forms_) return absl::OkStatus();
  if (rows_ == 0) {
    SetLayout(std::move(all));
    return absl::OkStatus();
  }
  // Rows of one source usually agree; otherwise they are packed again.
  PackedRows wide(inputs_);
  wide.SetLayout(std::move(all));
  Batch batch{.fields = std::vector<Field>(inputs_.size())};
  for (const Run& run : runs_) {
    batch.Clear();
    AppendTo(run.first, run.first + run.rows, &batch);
    FL_RETURN_IF_ERROR(wide.Add(batch, run.key));
  }
  *this = std::move(wide);
  return absl::OkStatus();
}

StatusOr<std::byte*> PackedRows::Allocate(size_t bytes) {
  bytes = AlignedBytes(std::max(bytes, kAlignBytes));
  while (block_ < blocks_.size() && block_used_ + bytes > blocks_[block_].size()) {
    ++block_;
    block_used_ = 0;
  }
  if (block_ == blocks_.size()) {
    // Pages that are not written are not backed by memory. Huge pages would save a little in random
    // order, but a virtual machine that gives free memory back to its host obtains them slowly.
    const size_t size = std::max(bytes, std::clamp(used_bytes_, kMinBlockBytes, kMaxBlockBytes));
    FL_ASSIGN_OR_RETURN(MappedMemory block, MappedMemory::Make(size, /*huge_pages=*/false));
    blocks_.push_back(std::move(block));
  }
  std::byte* const data = blocks_[block_].data() + block_used_;
  block_used_ += bytes;
  used_bytes_ += bytes;
  return data;
}

void PackedRows::PackFixed(const Batch& batch, int64_t begin, int64_t end, size_t stride,
                           std::byte* data) const {
  for (int64_t tile = begin; tile < end; tile += kTileRows) {
    const int64_t count = std::min(kTileRows, end - tile);
    for (const Column& column : columns_) {
      const Field& field = batch.fields[column.field];
      std::byte* to = data + column.offset;
      if (column.kind == Column::Kind::kIds) {
        const uint64_t* from = field.ids.ids.data() + tile;
        for (int64_t i = 0; i < count; ++i, to += stride) std::memcpy(to, from + i, sizeof(*from));
        continue;
      }
      if (column.kind == Column::Kind::kNarrowIds) {
        const uint64_t* from = field.ids.ids.data() + tile;
        for (int64_t i = 0; i < count; ++i, to += stride) {
          const auto id = static_cast<uint32_t>(from[i]);
          std::memcpy(to, &id, sizeof(id));
        }
        continue;
      }
      const float* from = field.values.data() + tile * column.width;
      for (int64_t i = 0; i < count; ++i, to += stride, from += column.width) {
        std::memcpy(to, from, column.width * sizeof(float));
      }
    }
    data += count * stride;
  }
}

void PackedRows::PackBags(const Batch& batch, int64_t begin, int64_t end, uint32_t* starts,
                          std::byte* data) const {
  std::byte* to = data;
  for (int64_t row = begin; row < end; ++row) {
    starts[row - begin] = static_cast<uint32_t>((to - data) / kWordBytes);
    PackFixed(batch, row, row + 1, 0, to);
    to += fixed_bytes_;
    for (const size_t f : bag_fields_) {
      const std::span<const uint64_t> ids = batch.fields[f].ids.row(row);
      const auto length = static_cast<uint32_t>(ids.size());
      std::memcpy(to, &length, kWordBytes);
      to += kWordBytes;
      if (!ids.empty()) std::memcpy(to, ids.data(), ids.size_bytes());
      to += ids.size_bytes();
      if (forms_[f] != Form::kWeighted) continue;
      const RaggedIds& field = batch.fields[f].ids;
      for (size_t i = 0; i < ids.size(); ++i, to += kWordBytes) {
        const float weight = field.weights.empty() ? 1.0f : field.weights[field.begin_of(row) + i];
        std::memcpy(to, &weight, kWordBytes);
      }
    }
  }
}

Status PackedRows::Add(const Batch& batch, int64_t begin, int64_t end, int64_t key) {
  if (begin == end) return absl::OkStatus();
  const int64_t count = end - begin;
  std::vector<Form> forms(inputs_.size());
  bool fits = true;
  for (size_t f = 0; f < inputs_.size(); ++f) {
    forms[f] = FormOf(f, batch, begin, end);
    fits &= forms[f] <= forms_[f];
  }
  // Where one input has large ids after all, others may follow: packing again once is enough.
  if (rows_ > 0 && !fits) {
    for (Form& form : forms) form = std::max(form, Form::kFixed);
  }
  FL_RETURN_IF_ERROR(Widen(forms));
  size_t bytes = count * fixed_bytes_;
  for (const size_t f : bag_fields_) {
    const RaggedIds& ids = batch.fields[f].ids;
    const size_t id_bytes = sizeof(uint64_t) + (forms_[f] == Form::kWeighted ? kWordBytes : 0);
    bytes += count * kWordBytes + (ids.begin_of(end) - ids.begin_of(begin)) * id_bytes;
  }
  if (bytes > kMaxRunBytes && count > 1) {
    FL_RETURN_IF_ERROR(Add(batch, begin, begin + count / 2, key));
    return Add(batch, begin + count / 2, end, key);
  }
  if (bag_fields_.empty()) {
    FL_ASSIGN_OR_RETURN(std::byte* const data, Allocate(bytes));
    PackFixed(batch, begin, end, fixed_bytes_, data);
    return AddRun({data, nullptr, 0, count, key});
  }
  const size_t starts_bytes = AlignedBytes(count * sizeof(uint32_t));
  FL_ASSIGN_OR_RETURN(std::byte* const data, Allocate(starts_bytes + bytes));
  auto* const starts = reinterpret_cast<uint32_t*>(data);
  PackBags(batch, begin, end, starts, data + starts_bytes);
  return AddRun({data + starts_bytes, starts, 0, count, key});
}

Status PackedRows::AddRun(Run run) {
  if (run.rows > std::numeric_limits<uint32_t>::max() - rows_) {
    return ResourceExhausted("dataset: {} rows are too many to keep in memory, stream them",
                             rows_ + run.rows);
  }
  run.first = rows_;
  rows_ += run.rows;
  runs_.push_back(run);
  const auto number = static_cast<uint32_t>(runs_.size() - 1);
  while (static_cast<int64_t>(guide_.size()) * kGuideRows < rows_) guide_.push_back(number);
  return absl::OkStatus();
}

inline const std::byte* PackedRows::Find(uint32_t row) const {
  const size_t step = row / kGuideRows;
  const size_t last = step + 1 < guide_.size() ? guide_[step + 1] : runs_.size() - 1;
  size_t run = guide_[step];
  if (run < last) {
    const auto behind = std::upper_bound(runs_.begin() + run, runs_.begin() + last + 1, row,
                                         [](int64_t r, const Run& each) { return r < each.first; });
    run = behind - runs_.begin() - 1;
  }
  const Run& found = runs_[run];
  const int64_t inside = row - found.first;
  return found.data +
         (found.starts == nullptr ? inside * fixed_bytes_ : int64_t{found.starts[inside]} * 4);
}

void PackedRows::AppendTo(std::span<const uint32_t> rows, Batch* to) const {
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0) return;
  for (const Column& column : columns_) {
    Field& field = to->fields[column.field];
    if (column.kind == Column::Kind::kNumbers) {
      field.values.resize((to->rows + count) * column.width);
    } else {
      field.ids.ids.resize(to->rows + count);
    }
  }
  for (const size_t f : bag_fields_) {
    if (to->fields[f].ids.offsets.empty()) to->fields[f].ids.offsets.push_back(0);
  }
  const size_t row_bytes = fixed_bytes_ + kCacheLineBytes - kAlignBytes;
  std::array<const std::byte*, kTileRows> now{}, next{};
  const auto find_tile = [&](int64_t begin, std::array<const std::byte*, kTileRows>* found) {
    for (int64_t i = begin; i < std::min(begin + kTileRows, count); ++i) {
      const std::byte* const row = (*found)[i - begin] = Find(rows[i]);
      for (size_t at = 0; at < row_bytes; at += kCacheLineBytes) __builtin_prefetch(row + at);
    }
  };
  find_tile(0, &next);
  for (int64_t begin = 0; begin < count; begin += kTileRows) {
    const int64_t tile = std::min(kTileRows, count - begin);
    now = next;
    find_tile(begin + kTileRows, &next);
    for (const Column& column : columns_) {
      Field& field = to->fields[column.field];
      if (column.kind == Column::Kind::kIds) {
        uint64_t* const out = field.ids.ids.data() + to->rows;
        for (int64_t i = 0; i < tile; ++i)
          std::memcpy(out + i, now[i] + column.offset, sizeof(*out));
        continue;
      }
      if (column.kind == Column::Kind::kNarrowIds) {
        uint64_t* const out = field.ids.ids.data() + to->rows;
        for (int64_t i = 0; i < tile; ++i) {
          uint32_t id = 0;
          std::memcpy(&id, now[i] + column.offset, sizeof(id));
          out[i] = id;
        }
        continue;
      }
      float* out = field.values.data() + to->rows * column.width;
      for (int64_t i = 0; i < tile; ++i, out += column.width) {
        std::memcpy(out, now[i] + column.offset, column.width * sizeof(float));
      }
    }
    for (int64_t i = 0; i < tile; ++i) {
      const std::byte* from = now[i] + fixed_bytes_;
      for (const size_t f : bag_fields_) {
        RaggedIds& ids = to->fields[f].ids;
        const size_t before = ids.ids.size();
        uint32_t length = 0;
        std::memcpy(&length, from, kWordBytes);
        ids.ids.resize(before + length);
        from += kWordBytes;
        if (length > 0) std::memcpy(ids.ids.data() + before, from, length * sizeof(uint64_t));
        from += length * sizeof(uint64_t);
        ids.offsets.push_back(static_cast<uint32_t>(ids.ids.size()));
        if (forms_[f] != Form::kWeighted) continue;
        ids.weights.resize(ids.ids.size());
        if (length > 0) std::memcpy(ids.weights.data() + before, from, length * kWordBytes);
        from += length * kWordBytes;
      }
    }
    to->rows += tile;
  }
}

void PackedRows::AppendTo(int64_t begin, int64_t end, Batch* to) const {
  std::vector<uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
  AppendTo(rows, to);
}

void PackedRows::Clear() {
  SetLayout(std::vector<Form>(inputs_.size()));
  runs_.clear();
  guide_.clear();
  rows_ = 0;
  block_ = block_used_ = used_bytes_ = 0;
}

StatusOr<PackedRows> PackedRows::Join(std::vector<PackedRows> parts) {
  PackedRows all(parts[0].inputs_);
  for (const PackedRows& part : parts) FL_RETURN_IF_ERROR(all.Widen(part.forms_));
  std::vector<Run> runs;
  for (PackedRows& part : parts) {
    FL_RETURN_IF_ERROR(part.Widen(all.forms_));
    runs.insert(runs.end(), part.runs_.begin(), part.runs_.end());
    std::move(part.blocks_.begin(), part.blocks_.end(), std::back_inserter(all.blocks_));
    all.used_bytes_ += part.used_bytes_;
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Run& a, const Run& b) { return a.key < b.key; });
  for (const Run& run : runs) FL_RETURN_IF_ERROR(all.AddRun(run));
  all.block_ = all.blocks_.size();  // what is left in the blocks is not worth using
  return all;
}

}  // namespace flotilla
