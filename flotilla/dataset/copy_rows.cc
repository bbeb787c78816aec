#include "flotilla/dataset/copy_rows.h"

#include <algorithm>

namespace flotilla {
namespace {

// Gives `ids` explicit offsets for the `rows` rows it holds.
void WriteOffsets(int64_t rows, RaggedIds* ids) {
  if (!ids->offsets.empty()) return;
  ids->offsets.resize(rows + 1);
  for (int64_t i = 0; i <= rows; ++i) ids->offsets[i] = static_cast<uint32_t>(i);
}

void AppendIds(const RaggedIds& from, int64_t begin, int64_t end, int64_t rows, RaggedIds* to) {
  const uint32_t first = from.begin_of(begin);
  const uint32_t last = from.begin_of(end);
  if (!from.one_per_row() || !to->one_per_row()) {
    WriteOffsets(rows, to);
    const uint32_t base = static_cast<uint32_t>(to->ids.size());
    for (int64_t i = begin; i < end; ++i) {
      to->offsets.push_back(base + from.begin_of(i + 1) - first);
    }
  }
  to->ids.insert(to->ids.end(), from.ids.begin() + first, from.ids.begin() + last);
}

void GatherIds(const RaggedIds& from, std::span<const uint32_t> rows, int64_t rows_before,
               RaggedIds* to) {
  if (from.one_per_row() && to->one_per_row()) {
    const size_t base = to->ids.size();
    to->ids.resize(base + rows.size());
    for (size_t i = 0; i < rows.size(); ++i) to->ids[base + i] = from.ids[rows[i]];
    return;
  }
  WriteOffsets(rows_before, to);
  for (uint32_t row : rows) {
    const std::span<const uint64_t> ids = from.row(row);
    to->ids.insert(to->ids.end(), ids.begin(), ids.end());
    to->offsets.push_back(static_cast<uint32_t>(to->ids.size()));
  }
}

void GatherValues(const AlignedVector<float>& from, std::span<const uint32_t> rows, int64_t width,
                  AlignedVector<float>* to) {
  const size_t base = to->size();
  to->resize(base + rows.size() * width);
  float* out = to->data() + base;
  for (uint32_t row : rows) {
    const float* in = from.data() + row * width;
    out = std::copy(in, in + width, out);
  }
}

}  // namespace

void AppendRows(std::span<const InputSpec> inputs, const Batch& from, int64_t begin, int64_t end,
                Batch* to) {
  if (begin == end) return;
  for (size_t f = 0; f < inputs.size(); ++f) {
    const Field& in = from.fields[f];
    Field& out = to->fields[f];
    if (inputs[f].kind == InputKind::kIds) {
      AppendIds(in.ids, begin, end, to->rows, &out.ids);
    } else {
      out.values.insert(out.values.end(), in.values.begin() + begin * inputs[f].width,
                        in.values.begin() + end * inputs[f].width);
    }
  }
  to->rows += end - begin;
}

void GatherRows(std::span<const InputSpec> inputs, const Batch& from,
                std::span<const uint32_t> rows, Batch* to) {
  if (rows.empty()) return;
  for (size_t f = 0; f < inputs.size(); ++f) {
    const Field& in = from.fields[f];
    Field& out = to->fields[f];
    if (inputs[f].kind == InputKind::kIds) {
      GatherIds(in.ids, rows, to->rows, &out.ids);
    } else {
      GatherValues(in.values, rows, inputs[f].width, &out.values);
    }
  }
  to->rows += static_cast<int64_t>(rows.size());
}

}  // namespace flotilla
