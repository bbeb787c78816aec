#include "flotilla/dataset/cache_block.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace flotilla {
namespace {

static_assert(std::endian::native == std::endian::little, "the cache is little-endian");

// Header of each column.
struct ColumnHead {
  uint32_t id_bytes;  // 1, 2, 4 or 8; 0: float32 numbers
  uint32_t form;      // kRagged: offsets precede the ids; kWeighted: weights follow them
  uint64_t count;     // numbers or ids
};
static_assert(sizeof(ColumnHead) == 16);
constexpr uint32_t kRagged = 1, kWeighted = 2;

constexpr size_t kAlign = 8;

size_t Padded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

void AppendPadded(const void* data, size_t bytes, std::string* out) {
  out->append(static_cast<const char*>(data), bytes);
  out->resize(Padded(out->size()), '\0');
}

uint32_t BytesOf(std::span<const uint64_t> ids) {
  uint64_t any = 0;
  for (uint64_t id : ids) any |= id;
  if (any >> 32 != 0) return 8;
  return any >> 16 != 0 ? 4 : any >> 8 != 0 ? 2 : 1;
}

// Calls `use` with a value of the type that packs an id in so many bytes.
template <typename Use>
void WithIdType(uint32_t bytes, const Use& use) {
  if (bytes == 1) return use(uint8_t{});
  if (bytes == 2) return use(uint16_t{});
  if (bytes == 4) return use(uint32_t{});
  use(uint64_t{});
}

void PackIds(const RaggedIds& ids, std::string* out) {
  const ColumnHead head{BytesOf(ids.ids),
                        (ids.one_per_row() ? 0 : kRagged) | (ids.weights.empty() ? 0 : kWeighted),
                        ids.ids.size()};
  AppendPadded(&head, sizeof(head), out);
  if ((head.form & kRagged) != 0) AppendPadded(ids.offsets.data(), 4 * ids.offsets.size(), out);
  WithIdType(head.id_bytes, [&]<typename Packed>(Packed) {
    std::vector<Packed> packed(ids.ids.size());
    std::transform(ids.ids.begin(), ids.ids.end(), packed.begin(),
                   [](uint64_t id) { return static_cast<Packed>(id); });
    AppendPadded(packed.data(), packed.size() * sizeof(Packed), out);
  });
  AppendPadded(ids.weights.data(), 4 * ids.weights.size(), out);
}

// Reads the bytes of a block sequentially.
class Cursor {
 public:
  explicit Cursor(std::span<const char> bytes) : bytes_(bytes) {}

  // Returns the next `count` elements of `size` bytes and skips their padding; null when there are
  // fewer.
  const char* Take(uint64_t count, size_t size) {
    const size_t left = bytes_.size() - place_;
    if (count > left / size || Padded(count * size) > left) return nullptr;
    const char* taken = bytes_.data() + place_;
    place_ += Padded(count * size);
    return taken;
  }
  bool at_end() const { return place_ == bytes_.size(); }

 private:
  const std::span<const char> bytes_;
  size_t place_ = 0;
};

Status Malformed(const InputSpec& input) {
  return absl::DataLossError(fmt::format("the column of input {} is malformed", input.name));
}

// Whether `offsets` are valid for a RaggedIds with this many rows and ids.
bool AreOffsets(const uint32_t* offsets, int64_t rows, uint64_t ids) {
  return offsets[0] == 0 && offsets[rows] == ids && std::is_sorted(offsets, offsets + rows + 1);
}

}  // namespace

std::string PackBlock(std::span<const InputSpec> inputs, const Batch& batch) {
  std::string out;
  for (size_t f = 0; f < inputs.size(); ++f) {
    const Field& field = batch.fields[f];
    if (inputs[f].kind == InputKind::kIds) {
      PackIds(field.ids, &out);
    } else {
      const ColumnHead head{0, 0, field.values.size()};
      AppendPadded(&head, sizeof(head), &out);
      AppendPadded(field.values.data(), 4 * field.values.size(), &out);
    }
  }
  return out;
}

StatusOr<BlockView> BlockView::Make(std::span<const InputSpec> inputs, int64_t rows,
                                    std::span<const char> bytes) {
  BlockView view;
  Cursor cursor(bytes);
  for (const InputSpec& input : inputs) {
    const char* head_bytes = cursor.Take(1, sizeof(ColumnHead));
    if (head_bytes == nullptr) return Malformed(input);
    ColumnHead head;
    std::memcpy(&head, head_bytes, sizeof(head));
    Column column;
    column.id_bytes = static_cast<int>(head.id_bytes);
    const bool is_ids = input.kind == InputKind::kIds;
    const bool known = is_ids ? head.id_bytes <= 8 && std::has_single_bit(head.id_bytes) &&
                                    head.form <= (kRagged | kWeighted)
                              : head.id_bytes == 0 && head.form == 0;
    const bool ragged = (head.form & kRagged) != 0;
    const uint64_t expected = is_ids ? rows : rows * input.width;
    if (!known || (!ragged && head.count != expected)) return Malformed(input);
    if (ragged) {
      column.offsets = reinterpret_cast<const uint32_t*>(cursor.Take(rows + 1, 4));
      if (column.offsets == nullptr || !AreOffsets(column.offsets, rows, head.count)) {
        return Malformed(input);
      }
    }
    column.data = cursor.Take(head.count, is_ids ? head.id_bytes : sizeof(float));
    if (column.data == nullptr) return Malformed(input);
    if ((head.form & kWeighted) != 0) {
      column.weights = reinterpret_cast<const float*>(cursor.Take(head.count, sizeof(float)));
      if (column.weights == nullptr) return Malformed(input);
    }
    view.columns_.push_back(column);
  }
  if (!cursor.at_end()) return absl::DataLossError("bytes after the last column");
  return view;
}

void BlockView::Append(std::span<const InputSpec> inputs, int64_t begin, int64_t end,
                       Batch* batch) const {
  for (size_t f = 0; f < columns_.size(); ++f) {
    const Column& column = columns_[f];
    Field& field = batch->fields[f];
    if (column.id_bytes == 0) {
      const auto* values = reinterpret_cast<const float*>(column.data);
      field.values.insert(field.values.end(), values + begin * inputs[f].width,
                          values + end * inputs[f].width);
      continue;
    }
    size_t first = begin, last = end;
    if (column.offsets != nullptr) {
      first = column.offsets[begin];
      last = column.offsets[end];
      const uint32_t base = static_cast<uint32_t>(field.ids.ids.size() - first);
      if (field.ids.offsets.empty()) field.ids.offsets.push_back(0);
      for (int64_t row = begin; row < end; ++row) {
        field.ids.offsets.push_back(base + column.offsets[row + 1]);
      }
    }
    WithIdType(column.id_bytes, [&]<typename Packed>(Packed) {
      const auto* packed = reinterpret_cast<const Packed*>(column.data);
      field.ids.ids.insert(field.ids.ids.end(), packed + first, packed + last);
    });
    // Blocks whose weights are all 1 have none.
    std::vector<float>& weights = field.ids.weights;
    if (column.weights == nullptr && weights.empty()) continue;
    const size_t ids = field.ids.ids.size();
    weights.resize(ids - (last - first), 1.0f);
    if (column.weights == nullptr) {
      weights.resize(ids, 1.0f);
    } else {
      weights.insert(weights.end(), column.weights + first, column.weights + last);
    }
  }
  batch->rows += end - begin;
}

}  // namespace flotilla
