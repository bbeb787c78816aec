#include "flotilla/communicator/geo_exchange.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

namespace flotilla {

namespace {

// Rows of a table per push and per answer: few enough that intermediate results are reused while
// they are in the caches.
constexpr size_t kRowsPerPush = size_t{1} << 15;
// Maximum number of rows of a table that are open at the same time.
constexpr size_t kRowsInPlace = 1024;
// Dense values that are processed together: intermediate results stay in the L1 cache.
constexpr int64_t kDensePiece = 2048;
constexpr uint8_t kSurelyShared = 3;

// Calls visit(piece) for the pieces of a range.
template <typename Visit>
void ForEachPiece(DenseRange range, Visit visit) {
  for (int64_t begin = range.begin; begin < range.end; begin += kDensePiece) {
    visit(DenseRange{begin, std::min(begin + kDensePiece, range.end)});
  }
}

// Calls visit(i, live, known) for the rows of each ids[i] in both tables; missing rows are created.
template <typename Visit>
Status ForEachRow(SparseTable* live, SparseTable* known, std::span<const uint64_t> ids,
                  Visit visit) {
  RowsInPlace live_rows, known_rows;
  for (size_t first = 0; first < ids.size(); first += kRowsInPlace) {
    const size_t count = std::min(kRowsInPlace, ids.size() - first);
    FL_RETURN_IF_ERROR(live->OpenRows(ids.subspan(first, count), &live_rows));
    FL_RETURN_IF_ERROR(known->OpenRows(ids.subspan(first, count), &known_rows));
    for (size_t i = 0; i < count; ++i) {
      visit(first + i, live_rows.rows()[i], known_rows.rows()[i]);
    }
    live_rows.Close();
    known_rows.Close();
  }
  return absl::OkStatus();
}

}  // namespace

const char* GeoDivisorName(GeoDivisor divisor) {
  switch (divisor) {
    case GeoDivisor::kTouched:
      return "touched";
    case GeoDivisor::kTrainers:
      return "trainers";
    case GeoDivisor::kNone:
      break;
  }
  return "none";
}

GeoExchange::GeoExchange(PsClient* client, LocalCommunicator* local, GeoDivisor divisor, int pushes)
    : client_(client), local_(local), divisor_(divisor), pushes_(pushes) {
  for (const TableSpec& table : local->spec().tables) changed_rows_.emplace_back(table.rows);
  const std::span<const float> dense = local->dense();
  known_dense_.assign(dense.begin(), dense.end());
  SetTrainers(client->options().trainers);
}

void GeoExchange::SetTrainers(int trainers) {
  trainers_ = trainers;
  for (size_t touches = 0; touches < row_scales_.size(); ++touches) {
    // Touches follow a Poisson distribution: another trainer has not touched the row with
    // probability exp(-n).
    const float others =
        static_cast<float>(trainers - 1) * (1 - std::exp(-static_cast<float>(touches)));
    row_scales_[touches] = 1 / std::sqrt(1 + std::max(1.0f, others));
  }
}

StatusOr<std::unique_ptr<GeoExchange>> GeoExchange::Make(PsClient* client, LocalCommunicator* local,
                                                         GeoDivisor divisor, int pushes) {
  std::unique_ptr<GeoExchange> made(new GeoExchange(client, local, divisor, pushes));
  const ModelSpec& spec = local->spec();
  // Tables of the same spec and seed have the same initial values: untouched rows need not be
  // stored.
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

Status GeoExchange::SendDeltas(const std::vector<TouchedIds>& touched, int64_t batches) {
  std::vector<size_t> sent(touched.size(), 0);
  // A push is in flight while the next one is prepared.
  std::deque<std::unique_ptr<PendingCalls>> under_way;
  bool first = true;
  bool more = true;
  while (more) {
    const std::shared_ptr<Deltas> deltas = deltas_.Take();
    deltas->sparse.resize(known_.size());
    more = false;
    for (size_t t = 0; t < known_.size(); ++t) {
      const std::span<const uint64_t> ids = touched[t].ids;
      const size_t count = std::min(kRowsPerPush, ids.size() - sent[t]);
      const auto counts = std::span(touched[t].counts).subspan(sent[t], count);
      SparseRows& rows = deltas->sparse[t];
      rows.ids.assign(ids.begin() + sent[t], ids.begin() + sent[t] + count);
      sent[t] += count;
      more = more || sent[t] < ids.size();
      FL_RETURN_IF_ERROR(MakeDelta(static_cast<int>(t), counts, &rows));
    }
    if (first) {
      MakeDenseDelta(&deltas->dense);
    } else {
      deltas->dense.clear();
    }
    if (under_way.size() == static_cast<size_t>(pushes_)) {
      FL_RETURN_IF_ERROR(under_way.front()->Wait());
      under_way.pop_front();
    }
    under_way.push_back(StartPush(deltas, first ? batches : 0));
    first = false;
  }
  for (const std::unique_ptr<PendingCalls>& push : under_way) FL_RETURN_IF_ERROR(push->Wait());
  return absl::OkStatus();
}

float GeoExchange::RowScale(bool changed, uint8_t touches) const {
  if (divisor_ == GeoDivisor::kTrainers) return 1.0f / static_cast<float>(trainers_);
  // A row that is touched this often is touched by all trainers, even if they have not sent it yet.
  const bool shared = changed || touches >= kSurelyShared;
  if (divisor_ == GeoDivisor::kNone || !shared || trainers_ == 1) return 1;
  return row_scales_[touches];
}

Status GeoExchange::MakeDelta(int table, std::span<const uint8_t> counts, SparseRows* rows) {
  rows->dim = known_[table]->spec().dim;
  rows->values.resize(rows->size() * static_cast<size_t>(rows->dim));
  return ForEachRow(&local_->table(table), known_[table].get(), rows->ids,
                    [&](size_t i, float* live, float* known) {
                      const bool changed = changed_rows_[table].Contains(rows->ids[i]);
                      const float scale = RowScale(changed, counts[i]);
                      const bool gives_up = divisor_ == GeoDivisor::kTouched && scale != 1;
                      HogwildRowDelta(rows->dim, scale, gives_up, live, known, rows->row(i));
                    });
}

[[gnu::noinline]] void GeoExchange::HogwildRowDelta(int64_t dim, float scale, bool gives_up,
                                                    float* live, float* known, float* delta) {
  for (int64_t d = 0; d < dim; ++d) {
    const float learned = live[d] - known[d];
    delta[d] = learned * scale;
    known[d] += delta[d];
    if (gives_up) live[d] += delta[d] - learned;
  }
}

float GeoExchange::DenseScale(int parameter) const {
  // The statistics of all trainers estimate the same quantity: they must be averaged, not added.
  const bool statistic = local_->spec().parameters[parameter].moving_average_keep != 0;
  if (divisor_ == GeoDivisor::kNone && !statistic) return 1;
  return 1.0f / static_cast<float>(trainers_);
}

void GeoExchange::MakeDenseDelta(AlignedVector<float>* delta) {
  const DenseLayout& layout = local_->layout();
  const auto size = static_cast<size_t>(layout.size());
  if (delta->size() != size) delta->assign(size, 0.0f);  // gaps stay zero
  for (int p = 0; p < layout.parameters(); ++p) {
    const DenseRange range{layout.offset(p), layout.offset(p) + layout.length(p)};
    const float scale = DenseScale(p);
    ForEachPiece(range, [&](DenseRange piece) { HogwildDenseDelta(piece, scale, delta); });
  }
}

[[gnu::noinline]] void GeoExchange::HogwildDenseDelta(DenseRange range, float scale,
                                                      AlignedVector<float>* delta) {
  std::array<float, kDensePiece> given_up;
  const float* live = local_->dense().data() + range.begin;
  float* known = known_dense_.data() + range.begin;
  float* sent = delta->data() + range.begin;
  for (int64_t i = 0; i < range.size(); ++i) {
    const float learned = live[i] - known[i];
    sent[i] = learned * scale;
    known[i] += learned * scale;
    given_up[i] = learned * scale - learned;
  }
  if (divisor_ == GeoDivisor::kTouched && scale != 1) {
    local_->dense_table().Add(range.begin, std::span(given_up).first(range.size()));
  }
}

std::unique_ptr<PendingCalls> GeoExchange::StartPush(std::shared_ptr<const Deltas> deltas,
                                                     int64_t batches) {
  return client_->StartPush({.kind = PushKind::kDelta,
                             .dense = deltas->dense,
                             .sparse = deltas->sparse,
                             .batches = batches,
                             .rows = 0,
                             .owner = deltas,
                             .fresh_dense = {}});
}

Status GeoExchange::TakeDirty() {
  for (IdSet& changed : changed_rows_) changed.Clear();
  do {
    FL_RETURN_IF_ERROR(client_->PullDirty(kRowsPerPush, &dirty_));
    for (size_t t = 0; t < dirty_.sparse.size(); ++t) {
      FL_RETURN_IF_ERROR(TakeRows(static_cast<int>(t), dirty_.sparse[t]));
    }
    for (const DirtyDense& dense : dirty_.dense) {
      const float* fresh = dense.values.data();
      for (const DenseRange& range : dense.ranges) {
        TakeDense(range, fresh);
        fresh += range.size();
      }
    }
  } while (dirty_.more);
  return absl::OkStatus();
}

Status GeoExchange::TakeRows(int table, const SparseRows& fresh) {
  FL_RETURN_IF_ERROR(ForEachRow(&local_->table(table), known_[table].get(), fresh.ids,
                                [&](size_t i, float* live, float* known) {
                                  HogwildTake(fresh.dim, fresh.row(i), live, known);
                                }));
  // After the tables have checked the ids.
  if (divisor_ == GeoDivisor::kTouched) changed_rows_[table].Add(fresh.ids);
  return absl::OkStatus();
}

[[gnu::noinline]] void GeoExchange::HogwildTake(int64_t dim, const float* fresh, float* live,
                                                float* known) {
  for (int64_t d = 0; d < dim; ++d) {
    live[d] += fresh[d] - known[d];
    known[d] = fresh[d];
  }
}

void GeoExchange::TakeDense(DenseRange range, const float* fresh) {
  ForEachPiece(range, [&](DenseRange piece) {
    std::array<float, kDensePiece> difference;
    float* known = known_dense_.data() + piece.begin;
    const float* from = fresh + (piece.begin - range.begin);
    for (int64_t i = 0; i < piece.size(); ++i) {
      difference[i] = from[i] - known[i];
      known[i] = from[i];
    }
    local_->dense_table().Add(piece.begin, std::span(difference).first(piece.size()));
  });
}

}  // namespace flotilla
