// The methods of the service that read and change parameters.
#include <algorithm>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/server/ps_service.h"
#include "flotilla/server/ps_service_call.h"
#include "flotilla/tensor/shard_order.h"

namespace flotilla {

namespace {

// Maximum number of examples of one push: sums of them are far from overflow.
constexpr uint64_t kMaxRows = uint64_t{1} << 40;

// A pointer to a member that keeps the whole object alive.
template <typename Whole, typename Part>
std::shared_ptr<const Part> ConstPart(const std::shared_ptr<Whole>& whole, const Part* part) {
  return std::shared_ptr<const Part>(whole, part);
}

// Reads the values of rows->ids in the order of virtual shards: in place if they were sent in that
// order, otherwise each row is copied to its place, and so is its id.
StatusOr<RowsView> ReadByShard(TensorReader* tensors, SparseRows* rows) {
  const ShardOrder order = OrderByShard(rows->ids);
  const auto dim = static_cast<size_t>(rows->dim);
  if (order.in_order) {
    FL_ASSIGN_OR_RETURN(const std::span<const float> values,
                        tensors->ReadInPlace(rows->size() * dim, &rows->values));
    return RowsView{rows->dim, rows->ids, values, {}};
  }
  std::vector<uint64_t> ids(rows->size());
  for (size_t i = 0; i < ids.size(); ++i) ids[order.places[i]] = rows->ids[i];
  rows->ids.swap(ids);
  rows->values.resize(rows->size() * dim);
  FL_RETURN_IF_ERROR(tensors->ReadRows<float>(
      rows->size(), dim, [&](size_t i) { return rows->row(order.places[i]); }));
  return RowsView(*rows);
}

UpdatePolicy PolicyOf(wire::PushKind kind) {
  switch (kind) {
    case wire::PUSH_IN_ROUND:
      return UpdatePolicy::kOnBarrier;
    case wire::PUSH_DELTA:
      return UpdatePolicy::kAddDelta;
    default:
      return UpdatePolicy::kOnArrival;
  }
}

}  // namespace

std::span<const PsService::Method> PsService::ParameterMethods() {
  using Head = wire::RequestHead;
  using enum Caller;
  using enum Repeat;
  static constexpr Method kMethods[] = {
      {wire::METHOD_PULL, Head::kPull, kJoined, kHarmless, &PsService::Pull},
      {wire::METHOD_PUSH, Head::kPush, kJoined, kOnce, &PsService::Push},
      {wire::METHOD_PULL_DENSE, Head::BODY_NOT_SET, kJoined, kHarmless, &PsService::PullDense},
      {wire::METHOD_PULL_DIRTY, Head::kPullDirty, kJoined, kOnce, &PsService::PullDirty},
      {wire::METHOD_READ_ROWS, Head::kReadRows, kJoined, kHarmless, &PsService::ReadRows},
      {wire::METHOD_WRITE_ROWS, Head::kWriteRows, kJoined, kOnce, &PsService::WriteRows},
      {wire::METHOD_WRITE_DENSE, Head::kWriteDense, kJoined, kOnce, &PsService::WriteDense},
  };
  return kMethods;
}

void PsService::Pull(const std::shared_ptr<Call>& call) {
  const uint64_t after = call->head().pull().after();
  if (after == 0) return PullNow(call);
  window_.After(call->trainer, call->head().incarnation(), after, [this, call] {
    const Status status = liveness_.status();
    status.ok() ? PullNow(call) : Answer(call, status);
  });
}

void PsService::PullNow(const std::shared_ptr<Call>& call) {
  const wire::PullRequest& request = call->head().pull();
  const Missing missing = request.create_missing() ? Missing::kCreate : Missing::kDefault;
  TensorWriter tensors;
  SparseRows rows;
  std::vector<bool> seen(static_cast<size_t>(tables_->tables()));
  for (const uint32_t table : request.tables()) {
    Status status = call->message.tensors.ReadAll(&rows.ids);
    // Each table only once: the answer must fit into a message, however many the request names.
    if (status.ok() && (table >= seen.size() || seen[table])) {
      status = InvalidArgument("a pull of table {}, the model has {}", table, seen.size());
    }
    if (status.ok()) seen[table] = true;
    if (status.ok()) status = tables_->CheckIds(table, rows.ids);
    if (status.ok()) status = tables_->Pull(table, missing, &rows);
    if (!status.ok()) return Answer(call, status);
    tensors.AddOwned(std::move(rows.values));
    rows.values = {};
  }
  if (const Status status = call->message.tensors.Finish(); !status.ok()) {
    return Answer(call, status);
  }
  call->reply(EncodeResponse({}, tensors));
}

Status PsService::ReadPart(Call& call, RoundPart* part, PushedValues* pushed) const {
  const wire::PushRequest& request = call.head().push();
  TensorReader& tensors = call.message.tensors;
  if (request.rows() > kMaxRows) return InvalidArgument("a push of {} examples", request.rows());
  part->rows = static_cast<int64_t>(request.rows());
  part->sparse.resize(tables_->spec().tables.size());
  for (size_t t = 0; t < part->sparse.size(); ++t) {
    part->sparse[t].dim = tables_->spec().tables[t].dim;
    part->sparse[t].ids.clear();
  }
  std::vector<bool> seen(part->sparse.size());
  if (pushed != nullptr) pushed->sparse.resize(seen.size());
  for (const uint32_t table : request.tables()) {
    if (table >= seen.size() || seen[table]) {
      return InvalidArgument("a push of table {}, the model has {}", table, seen.size());
    }
    seen[table] = true;
    SparseRows& rows = part->sparse[table];
    // Copied, unlike the values: ids that were checked must not change in shared memory.
    FL_RETURN_IF_ERROR(tensors.ReadAll(&rows.ids));
    FL_RETURN_IF_ERROR(tables_->CheckIds(table, rows.ids));
    const uint64_t floats = tensors.next_elements();
    if (floats != rows.size() * static_cast<size_t>(rows.dim)) {
      return InvalidArgument("table {}: {} values for {} ids of dim {}",
                             tables_->spec().tables[table].name, floats, rows.size(), rows.dim);
    }
    if (pushed != nullptr) {
      FL_ASSIGN_OR_RETURN(pushed->sparse[table], ReadByShard(&tensors, &rows));
    } else {
      FL_RETURN_IF_ERROR(tensors.ReadAll(&rows.values));
    }
  }
  // Not before: this avoids clearing memory that values are then read into.
  for (size_t t = 0; t < seen.size(); ++t) {
    if (!seen[t]) part->sparse[t].values.clear();
  }
  const auto floats = static_cast<size_t>(request.has_dense() ? tables_->range().size() : 0);
  if (floats > 0 && pushed != nullptr && !request.half_dense()) {
    FL_ASSIGN_OR_RETURN(pushed->dense, tensors.ReadInPlace(floats, &part->dense));
    return tensors.Finish();
  }
  part->dense.resize(floats);
  if (request.has_dense()) {
    const std::span<float> out(part->dense);
    FL_RETURN_IF_ERROR(request.half_dense() ? tensors.ReadHalf(out) : tensors.Read(out));
  }
  if (pushed != nullptr) pushed->dense = part->dense;
  return tensors.Finish();
}

void PsService::Push(const std::shared_ptr<Call>& call) {
  const wire::PushKind kind = call->head().push().kind();
  if (PolicyOf(kind) != options_.policy) {
    return Answer(call, FailedPrecondition("a push {}, the server's policy is {}",
                                           NameOf(PolicyOf(kind)), NameOf(options_.policy)));
  }
  const std::shared_ptr<RoundPart> part = parts_.Take();
  const bool in_round = kind == wire::PUSH_IN_ROUND;
  PushedValues pushed;
  const Status read = ReadPart(*call, part.get(), in_round ? nullptr : &pushed);
  if (!read.ok()) return Answer(call, read);
  if (in_round) {
    part->empty = call->head().push().batches() == 0;
    if (part->empty && part->has_values()) {
      return Answer(call, InvalidArgument("a push into a round of no batches, but with values"));
    }
    call->message.tensors = {};  // a push that waits for its round is stored only once
    return PushInRound(call, std::move(*part));
  }
  const int64_t batches = call->head().push().batches();
  const StatusOr<int64_t> step =
      kind == wire::PUSH_DELTA ? AddDelta(call->trainer, pushed, batches) : Apply(pushed, batches);
  call->message.tensors = {};
  if (!step.ok()) return Answer(call, step.status());
  const DenseAnswer dense = DenseAnswerOf(call->head().push());
  const RoundResult result{.step = *step, .pauses_asked = pauses_asked_};
  Answer(call, true, [this, result, dense] { return PushResponse(result, dense); });
}

void PsService::PushInRound(const std::shared_ptr<Call>& call, RoundPart part) {
  const auto done = [this, call](const RoundResult& result) {
    if (!result.status.ok()) return Answer(call, result.status);
    const DenseAnswer dense =
        result.send_again ? DenseAnswer::kNone : DenseAnswerOf(call->head().push());
    Answer(call, !result.send_again, [this, result, dense] { return PushResponse(result, dense); });
  };
  rounds_.Push(call->trainer, std::move(part), done);
}

RoundResult PsService::ApplyRound(const RoundPart& mean) {
  if (mean.empty) return {.step = step_, .pauses_asked = pauses_asked_};
  const StatusOr<int64_t> step = Apply({{mean.sparse.begin(), mean.sparse.end()}, mean.dense}, 1);
  if (!step.ok()) return {.status = step.status()};
  return {.step = *step, .pauses_asked = pauses_asked_};
}

StatusOr<int64_t> PsService::Apply(const PushedValues& pushed, int64_t batches) {
  const int64_t before = step_.fetch_add(batches, std::memory_order_relaxed);
  const UpdateMoment moment{.step = std::max<int64_t>(1, before + batches),
                            .rate = LearningRate(tables_->spec().optimizer.learning_rate, before)};
  for (size_t t = 0; t < pushed.sparse.size(); ++t) {
    FL_RETURN_IF_ERROR(tables_->Push(static_cast<uint32_t>(t), pushed.sparse[t], moment));
  }
  if (!pushed.dense.empty()) FL_RETURN_IF_ERROR(tables_->PushDense(pushed.dense, moment));
  return before + batches;
}

StatusOr<int64_t> PsService::AddDelta(int trainer, const PushedValues& pushed, int64_t batches) {
  const int64_t step = step_.fetch_add(batches, std::memory_order_relaxed) + batches;
  std::vector<uint32_t> locations;
  for (size_t t = 0; t < pushed.sparse.size(); ++t) {
    const RowsView& rows = pushed.sparse[t];
    FL_RETURN_IF_ERROR(tables_->AddRows(static_cast<uint32_t>(t), rows, &locations));
    dirty_.Mark(trainer, static_cast<int>(t), locations, rows.ids);
  }
  if (!pushed.dense.empty()) tables_->AddDense(pushed.dense);
  dirty_.MarkDense(trainer, pushed.dense);
  return step;
}

PsService::DenseAnswer PsService::DenseAnswerOf(const wire::PushRequest& request) {
  if (!request.want_dense()) return DenseAnswer::kNone;
  return request.half_dense() ? DenseAnswer::kHalf : DenseAnswer::kFloat;
}

Payload PsService::PushResponse(const RoundResult& result, DenseAnswer dense) const {
  wire::ResponseHead head;
  head.mutable_push()->set_global_step(static_cast<uint64_t>(result.step));
  head.mutable_push()->set_send_again(result.send_again);
  head.mutable_push()->set_pauses_asked(result.pauses_asked);
  TensorWriter tensors;
  if (dense == DenseAnswer::kHalf) tensors.AddHalf(*DenseNow());
  if (dense == DenseAnswer::kFloat) AddDenseSlice(&tensors);
  return EncodeResponse(std::move(head), tensors);
}

std::shared_ptr<const AlignedVector<float>> PsService::DenseNow() const {
  const uint64_t version = tables_->dense_version();
  {
    MutexLock lock(dense_now_mutex_);
    if (auto now = dense_now_.lock(); now != nullptr && dense_now_version_ == version) return now;
  }
  const std::shared_ptr<AlignedVector<float>> values = dense_values_.Take();
  values->resize(static_cast<size_t>(tables_->range().size()));
  tables_->CopyDense(0, *values);
  MutexLock lock(dense_now_mutex_);
  dense_now_ = values;
  dense_now_version_ = version;
  return values;
}

void PsService::AddDenseSlice(TensorWriter* tensors) const {
  if (options_.policy == UpdatePolicy::kOnArrival) {
    const std::span<const std::byte> live = std::as_bytes(tables_->dense());
    return tensors->Add<float>({live.data(), live.size(), tables_});
  }
  const std::shared_ptr<const AlignedVector<float>> values = DenseNow();
  tensors->Add<float>(SliceOf(values, 0, values->size()));
}

void PsService::PullDense(const std::shared_ptr<Call>& call) {
  TensorWriter tensors;
  AddDenseSlice(&tensors);
  call->reply(EncodeResponse({}, tensors));
}

void PsService::PullDirty(const std::shared_ptr<Call>& call) {
  const int trainer = call->trainer;
  const uint64_t sequence = call->head().sequence();
  dirty_.Begin(trainer, sequence);
  const uint64_t max_rows = std::max<uint64_t>(1, call->head().pull_dirty().max_rows());
  Answer(call, true, [this, sequence, trainer, max_rows] {
    StatusOr<DirtyRows::Changes> changes = dirty_.Take(trainer, sequence, max_rows);
    if (!changes.ok()) return EncodeError(changes.status(), false);
    StatusOr<Payload> response = DirtyResponse(*std::move(changes));
    return response.ok() ? *std::move(response) : EncodeError(response.status(), false);
  });
}

StatusOr<Payload> PsService::DirtyResponse(DirtyRows::Changes changes) {
  wire::ResponseHead head;
  wire::PullDirtyResponse& body = *head.mutable_pull_dirty();
  body.set_more(changes.more);
  TensorWriter tensors;
  for (size_t t = 0; t < changes.ids.size(); ++t) {
    const std::shared_ptr<SparseRows> rows = dirty_values_.Take();
    rows->ids = std::move(changes.ids[t]);
    FL_RETURN_IF_ERROR(tables_->Pull(static_cast<uint32_t>(t), Missing::kCreate, rows.get()));
    tensors.Add<uint64_t>(SliceOf(ConstPart(rows, &rows->ids), 0, rows->ids.size()));
    tensors.Add<float>(SliceOf(ConstPart(rows, &rows->values), 0, rows->values.size()));
  }
  const std::shared_ptr<AlignedVector<float>> dense = dense_values_.Take();
  dense->resize(changes.dense.size() * kDenseBlockFloats);
  size_t floats = 0;
  for (const DenseRange& range : changes.dense) {
    const auto length = static_cast<size_t>(range.size());
    tables_->CopyDense(range.begin, std::span(*dense).subspan(floats, length));
    floats += length;
    body.add_dense_begins(static_cast<uint64_t>(range.begin));
    body.add_dense_lengths(length);
  }
  tensors.Add<float>(SliceOf(std::shared_ptr<const AlignedVector<float>>(dense), 0, floats));
  return EncodeResponse(std::move(head), tensors);
}

void PsService::ReadRows(const std::shared_ptr<Call>& call) {
  const wire::ReadRowsRequest& request = call->head().read_rows();
  if (const Status status = tables_->CheckIds(request.table(), {}); !status.ok()) {
    return Answer(call, status);
  }
  const SparseTable& table = tables_->table(static_cast<int>(request.table()));
  const uint64_t max_rows = std::clamp<uint64_t>(request.max_rows(), 1, kMaxStoredRows);
  SparseRows rows;
  uint32_t shard = request.first_shard();
  while (shard < kVirtualShards && rows.size() < max_rows) {
    table.ForEachRow(static_cast<int>(shard), RowOrder::kAscendingId, [&](const RowView& row) {
      rows.ids.push_back(row.id);
      rows.values.insert(rows.values.end(), row.weights.begin(), row.weights.end());
    });
    ++shard;
  }
  wire::ResponseHead head;
  head.mutable_read_rows()->set_next_shard(shard);
  TensorWriter tensors;
  tensors.AddOwned(std::move(rows.ids));
  tensors.AddOwned(std::move(rows.values));
  call->reply(EncodeResponse(std::move(head), tensors));
}

void PsService::WriteRows(const std::shared_ptr<Call>& call) {
  const uint32_t table = call->head().write_rows().table();
  SparseRows rows;
  Status status = call->message.tensors.ReadAll(&rows.ids);
  if (status.ok()) status = tables_->CheckIds(table, rows.ids);
  if (status.ok()) status = call->message.tensors.ReadAll(&rows.values);
  if (status.ok()) status = call->message.tensors.Finish();
  if (status.ok()) {
    rows.dim = tables_->spec().tables[table].dim;
    status = tables_->table(static_cast<int>(table)).WriteRows(rows);
  }
  Answer(call, status);
}

void PsService::WriteDense(const std::shared_ptr<Call>& call) {
  AlignedVector<float> values;
  Status status = call->message.tensors.ReadAll(&values);
  if (status.ok()) status = call->message.tensors.Finish();
  if (status.ok()) {
    const uint64_t begin = std::min<uint64_t>(call->head().write_dense().begin(), INT64_MAX / 2);
    status = tables_->WriteDense(static_cast<int64_t>(begin), values);
  }
  Answer(call, status);
}

}  // namespace flotilla
