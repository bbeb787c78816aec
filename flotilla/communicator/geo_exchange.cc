#include "flotilla/communicator/geo_exchange.h"

#include <algorithm>
#include <utility>

namespace flotilla {

namespace {

// Rows of a table that one push carries, and one answer brings: some tens of megabytes.
constexpr size_t kRowsPerPush = size_t{1} << 18;
// Rows of a live table that are held open at once.
constexpr size_t kRowsInPlace = 1024;

}  // namespace

GeoExchange::GeoExchange(PsClient* client, LocalCommunicator* local, double divisor)
    : client_(client), local_(local), scale_(static_cast<float>(1 / divisor)) {
  const std::span<const float> dense = local->dense();
  known_dense_.assign(dense.begin(), dense.end());
}

StatusOr<std::unique_ptr<GeoExchange>> GeoExchange::Make(PsClient* client, LocalCommunicator* local,
                                                         double divisor) {
  std::unique_ptr<GeoExchange> made(new GeoExchange(client, local, divisor));
  const ModelSpec& spec = local->spec();
  // Tables of the same spec and seed have the same first values: rows that nobody touched need no
  // place.
  for (const TableSpec& table : spec.tables) {
    FL_ASSIGN_OR_RETURN(auto known, SparseTable::Make(table, spec.seed, nullptr, {}));
    made->known_.push_back(std::move(known));
  }
  return made;
}

void GeoExchange::SetSeed(uint64_t seed) {
  for (const auto& table : known_) table->SetSeed(seed);
}

Status GeoExchange::TakeAll() {
  AlignedVector<float> dense(known_dense_.size());
  FL_RETURN_IF_ERROR(client_->PullDense(dense));
  const DenseLayout& layout = local_->layout();
  for (int p = 0; p < layout.parameters(); ++p) {
    WriteParameter(p, std::span(dense).subspan(layout.offset(p), layout.length(p)));
  }
  for (size_t t = 0; t < known_.size(); ++t) {
    const int table = static_cast<int>(t);
    FL_ASSIGN_OR_RETURN(const SparseRows rows, client_->ReadTable(table));
    if (rows.size() > 0) FL_RETURN_IF_ERROR(WriteRows(table, rows));
  }
  return absl::OkStatus();
}

Status GeoExchange::WriteRows(int table, const SparseRows& rows) {
  FL_RETURN_IF_ERROR(known_[table]->WriteRows(rows));
  return local_->table(table).WriteRows(rows);
}

void GeoExchange::WriteParameter(int parameter, std::span<const float> values) {
  local_->dense_table().Write(parameter, values);
  std::copy(values.begin(), values.end(),
            known_dense_.begin() + local_->layout().offset(parameter));
}

Status GeoExchange::SendDeltas(std::vector<std::vector<uint64_t>> touched, int64_t batches) {
  std::vector<size_t> sent(touched.size(), 0);
  bool first = true;
  bool more = true;
  while (more) {
    auto deltas = std::make_shared<Deltas>();
    deltas->sparse.resize(known_.size());
    more = false;
    for (size_t t = 0; t < known_.size(); ++t) {
      const size_t count = std::min(kRowsPerPush, touched[t].size() - sent[t]);
      SparseRows& rows = deltas->sparse[t];
      rows.ids.assign(touched[t].begin() + sent[t], touched[t].begin() + sent[t] + count);
      sent[t] += count;
      more = more || sent[t] < touched[t].size();
      FL_RETURN_IF_ERROR(MakeDelta(static_cast<int>(t), &rows));
    }
    if (first) HogwildDenseDelta(&deltas->dense);
    FL_RETURN_IF_ERROR(PushDeltas(std::move(deltas), first ? batches : 0));
    first = false;
  }
  return absl::OkStatus();
}

Status GeoExchange::MakeDelta(int table, SparseRows* rows) {
  FL_RETURN_IF_ERROR(local_->table(table).Pull(Missing::kDefault, rows));
  SparseRows known;
  known.ids = rows->ids;
  FL_RETURN_IF_ERROR(known_[table]->Pull(Missing::kDefault, &known));
  for (size_t i = 0; i < rows->values.size(); ++i) {
    const float delta = (rows->values[i] - known.values[i]) * scale_;
    rows->values[i] = delta;
    known.values[i] += delta;
  }
  return known_[table]->WriteRows(known);
}

[[gnu::noinline]] void GeoExchange::HogwildDenseDelta(AlignedVector<float>* delta) {
  const std::span<const float> live = local_->dense();
  delta->assign(live.size(), 0.0f);
  const float mean = 1.0f / static_cast<float>(client_->options().trainers);
  for (int p = 0; p < local_->layout().parameters(); ++p) {
    // Each trainer's statistic is an estimate of the same thing: their sum would mean nothing.
    const bool statistic = local_->spec().parameters[p].moving_average_keep != 0;
    const float scale = statistic ? mean : scale_;
    const int64_t end = local_->layout().offset(p) + local_->layout().length(p);
    for (int64_t i = local_->layout().offset(p); i < end; ++i) {
      (*delta)[i] = (live[i] - known_dense_[i]) * scale;
      known_dense_[i] += (*delta)[i];
    }
  }
}

Status GeoExchange::PushDeltas(std::shared_ptr<const Deltas> deltas, int64_t batches) {
  return client_->Push({.kind = PushKind::kDelta,
                        .dense = deltas->dense,
                        .sparse = deltas->sparse,
                        .batches = batches,
                        .rows = 0,
                        .owner = deltas,
                        .fresh_dense = {}});
}

Status GeoExchange::TakeDirty() {
  bool more = true;
  while (more) {
    FL_ASSIGN_OR_RETURN(const DirtyValues dirty, client_->PullDirty(kRowsPerPush));
    for (size_t t = 0; t < dirty.sparse.size(); ++t) {
      FL_RETURN_IF_ERROR(TakeRows(static_cast<int>(t), dirty.sparse[t]));
    }
    TakeDense(dirty);
    more = dirty.more;
  }
  return absl::OkStatus();
}

Status GeoExchange::TakeRows(int table, const SparseRows& fresh) {
  if (fresh.ids.empty()) return absl::OkStatus();
  SparseRows difference;
  difference.ids = fresh.ids;
  FL_RETURN_IF_ERROR(known_[table]->Pull(Missing::kDefault, &difference));
  for (size_t i = 0; i < difference.values.size(); ++i) {
    difference.values[i] = fresh.values[i] - difference.values[i];
  }
  FL_RETURN_IF_ERROR(known_[table]->WriteRows(fresh));
  RowsInPlace open;
  const std::span<const uint64_t> ids = fresh.ids;
  for (size_t first = 0; first < ids.size(); first += kRowsInPlace) {
    const size_t count = std::min(kRowsInPlace, ids.size() - first);
    FL_RETURN_IF_ERROR(local_->table(table).OpenRows(ids.subspan(first, count), &open));
    HogwildAdd(difference, first, open.rows());
    open.Close();
  }
  return absl::OkStatus();
}

[[gnu::noinline]] void GeoExchange::HogwildAdd(const SparseRows& difference, size_t first,
                                               std::span<float* const> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const float* from = difference.row(first + i);
    for (int64_t d = 0; d < difference.dim; ++d) rows[i][d] += from[d];
  }
}

void GeoExchange::TakeDense(const DirtyValues& dirty) {
  const float* fresh = dirty.dense.data();
  for (const DenseRange& range : dirty.ranges) {
    difference_.resize(static_cast<size_t>(range.size()));
    for (int64_t i = 0; i < range.size(); ++i) {
      float& known = known_dense_[range.begin + i];
      difference_[i] = fresh[i] - known;
      known = fresh[i];
    }
    local_->dense_table().Add(range.begin, difference_);
    fresh += range.size();
  }
}

}  // namespace flotilla
