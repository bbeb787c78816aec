#include "flotilla/client/ps_client.h"

#include <algorithm>
#include <utility>

#include "flotilla/rpc/codec.h"

namespace flotilla {

namespace {

wire::PushKind WireKind(PushKind kind) {
  switch (kind) {
    case PushKind::kInRound:
      return wire::PUSH_IN_ROUND;
    case PushKind::kDelta:
      return wire::PUSH_DELTA;
    case PushKind::kOnArrival:
      break;
  }
  return wire::PUSH_ON_ARRIVAL;
}

template <typename Element>
ByteSlice Borrow(std::span<const Element> elements, const std::shared_ptr<const void>& owner) {
  return {reinterpret_cast<const std::byte*>(elements.data()), elements.size_bytes(), owner};
}

}  // namespace

PsClient::PsClient(ModelSpec spec, PsClientOptions options, std::unique_ptr<Transport> transport,
                   const Clock* clock, LogLine log, std::unique_ptr<Transport> control)
    : spec_(std::move(spec)),
      layout_(spec_.parameters),
      options_(std::move(options)),
      log_(std::move(log)),
      transport_(std::move(transport)),
      control_(std::move(control)),
      calls_(transport_.get(), options_.retry, options_.heartbeat.silent_bound_ms),
      aborts_(MakeAborts()),
      heartbeat_(
          PsClient::control(), options_.heartbeat, clock,
          [this] { return EncodeRequest(MakeHead(wire::METHOD_PING), {}); },
          [this](const Status& error) { calls_.Fail(Explain(error)); },
          [this](int server, uint64_t pauses, const std::string& stop_cause) {
            SeePauses(pauses);
            if (!stop_cause.empty()) SeeStopAsked(server, stop_cause);
          },
          log_),
      seed_(spec_.seed),
      server_lives_(static_cast<size_t>(transport_->servers())),
      next_collective_(static_cast<size_t>(transport_->servers())) {
  calls_.set_hooks({.heard = [this](int server) { heartbeat_.Heard(server); },
                    .explain = [this](const Status& error) { return Explain(error); },
                    .job_failed =
                        [this](const Status& error) {
                          if (options_.on_failure) options_.on_failure(error);
                          TellServers(error);
                        }});
}

PsClient::~PsClient() {
  heartbeat_.Stop();
  WaitForAborts();
  transport_->Close();
  if (control_ != nullptr) control_->Close();
}

Status PsClient::Explain(const Status& error) const {
  const int64_t paused = heartbeat_.RecentPauseNanos();
  if (paused == 0 || !(absl::IsUnavailable(error) || absl::IsAborted(error))) return error;
  return absl::UnavailableError(
      fmt::format("this process was paused for {:.1f} s and taken for dead by its peers: {}",
                  paused / 1e9, Message(error)));
}

wire::RequestHead PsClient::MakeHead(wire::Method method) const {
  wire::RequestHead head;
  head.set_protocol_version(kProtocolVersion);
  head.set_method(method);
  head.set_job_id(options_.job_id);
  head.set_sender_kind(wire::SENDER_TRAINER);
  head.set_sender_index(static_cast<uint32_t>(options_.trainer));
  head.set_incarnation(options_.incarnation);
  head.set_shard_map_version(options_.shard_map_version);
  return head;
}

ServerCall PsClient::MakeCall(int server, wire::RequestHead head, const TensorWriter& tensors) {
  return {.server = server,
          .request = EncodeRequest(std::move(head), tensors),
          .timeout_ms = options_.rpc_timeout_ms,
          .take = {},
          .again = {}};
}

ServerCall PsClient::MakeWaitingCall(int server, wire::RequestHead head,
                                     const TensorWriter& tensors) {
  ServerCall call = MakeCall(server, std::move(head), tensors);
  call.timeout_ms = kNoTimeoutMs;
  return call;
}

ServerCall PsClient::OneCall(int server, wire::RequestHead head, const TensorWriter& tensors) {
  head.set_sequence(NextSequence());
  return MakeWaitingCall(server, std::move(head), tensors);
}

std::vector<ServerCall> PsClient::CallsToAll(const wire::RequestHead& head) {
  std::vector<ServerCall> calls;
  for (int s = 0; s < servers(); ++s) calls.push_back(OneCall(s, head, {}));
  return calls;
}

Status PsClient::SeeStep(uint64_t step) {
  FL_ASSIGN_OR_RETURN(const int64_t seen, StepOf(step));
  int64_t known = global_step_.load(std::memory_order_relaxed);
  while (known < seen && !global_step_.compare_exchange_weak(known, seen)) {
  }
  return absl::OkStatus();
}

void PsClient::SeeStopAsked(int server, const std::string& cause) {
  if (stop_asked_.exchange(true) || !options_.on_stop_asked) return;
  options_.on_stop_asked(
      fmt::format("server {} ({}): {}", server, transport_->address(server), cause));
}

// Only server 0 is asked for pauses, so it has the largest number.
void PsClient::SeePauses(uint64_t asked) {
  uint64_t known = pauses_asked_;
  while (known < asked && !pauses_asked_.compare_exchange_weak(known, asked)) {
  }
}

Status PsClient::Pull(Missing missing, std::span<SparseRows> rows) {
  return StartPull(missing, rows)->Wait();
}

std::unique_ptr<PendingCalls> PsClient::StartPull(Missing missing, std::span<SparseRows> rows,
                                                  const PushSequences& after) {
  FL_CHECK(rows.size() == spec_.tables.size());
  FL_CHECK(after.empty() || after.size() == static_cast<size_t>(servers()));
  auto splits = std::make_shared<std::vector<ShardSplit>>();
  for (size_t t = 0; t < rows.size(); ++t) {
    splits->push_back(SplitByServer(rows[t].ids, servers()));
    rows[t].dim = spec_.tables[t].dim;
    rows[t].values.resize(rows[t].size() * static_cast<size_t>(rows[t].dim));
    rows[t].locations.clear();
  }
  std::vector<ServerCall> calls;
  for (int s = 0; s < servers(); ++s) {
    wire::RequestHead head = MakeHead(wire::METHOD_PULL);
    head.mutable_pull()->set_create_missing(missing == Missing::kCreate);
    if (!after.empty()) head.mutable_pull()->set_after(after[s]);
    TensorWriter tensors;
    for (size_t t = 0; t < rows.size(); ++t) {
      if ((*splits)[t].of(s).empty()) continue;
      head.mutable_pull()->add_tables(static_cast<uint32_t>(t));
      AddIdsAt(rows[t], (*splits)[t].of(s), &tensors);
    }
    if (head.pull().tables_size() == 0) continue;
    ServerCall& call = calls.emplace_back(MakeCall(s, std::move(head), tensors));
    call.take = [splits, rows, s](ResponseMessage& response) -> Status {
      for (size_t t = 0; t < rows.size(); ++t) {
        const std::span<const uint32_t> positions = (*splits)[t].of(s);
        if (positions.empty()) continue;
        FL_RETURN_IF_ERROR(
            response.tensors.ReadRows<float>(positions.size(), static_cast<size_t>(rows[t].dim),
                                             [&](size_t i) { return rows[t].row(positions[i]); }));
      }
      return response.tensors.Finish();
    };
  }
  return calls_.Start("pull", std::move(calls));
}

void PsClient::AddSparse(const PushValues& values, int server,
                         const std::vector<ShardSplit>& splits, wire::PushRequest* request,
                         TensorWriter* tensors) const {
  for (size_t t = 0; t < values.sparse.size(); ++t) {
    const SparseRows& rows = values.sparse[t];
    const std::span<const uint32_t> positions = splits[t].of(server);
    if (positions.empty()) continue;
    request->add_tables(static_cast<uint32_t>(t));
    if (servers() == 1 && values.owner != nullptr) {
      tensors->Add<uint64_t>(Borrow(std::span<const uint64_t>(rows.ids), values.owner));
      tensors->Add<float>(Borrow(std::span<const float>(rows.values), values.owner));
    } else {
      AddIdsAt(rows, positions, tensors);
      AddValuesAt(rows, positions, tensors);
    }
  }
}

void PsClient::AddDense(const PushValues& values, int server, wire::PushRequest* request,
                        TensorWriter* tensors) const {
  const DenseRange range = DenseRangeOf(layout_.size(), server, servers());
  if (values.dense.empty() || range.size() == 0) return;
  const auto slice = values.dense.subspan(range.begin, range.size());
  request->set_has_dense(true);
  if (request->half_dense()) {
    tensors->AddHalf(slice);
  } else if (values.owner != nullptr) {
    tensors->Add<float>(Borrow(slice, values.owner));
  } else {
    tensors->AddCopy<float>(slice);
  }
}

Status PsClient::Push(const PushValues& values) { return StartPush(values)->Wait(); }

std::unique_ptr<PendingCalls> PsClient::StartPush(const PushValues& values,
                                                  PushSequences* sequences) {
  FL_CHECK(values.sparse.size() == spec_.tables.size());
  FL_CHECK(values.dense.empty() || values.dense.size() == static_cast<size_t>(layout_.size()));
  std::vector<ShardSplit> splits;
  for (const SparseRows& rows : values.sparse) splits.push_back(SplitByServer(rows.ids, servers()));
  std::vector<ServerCall> calls;
  if (sequences != nullptr) sequences->clear();
  // Every push goes to every server: each counts the steps.
  for (int s = 0; s < servers(); ++s) {
    wire::RequestHead head = MakeHead(wire::METHOD_PUSH);
    head.set_sequence(NextSequence());
    if (sequences != nullptr) sequences->push_back(head.sequence());
    wire::PushRequest& request = *head.mutable_push();
    request.set_kind(WireKind(values.kind));
    request.set_batches(static_cast<uint32_t>(values.batches));
    request.set_rows(static_cast<uint64_t>(values.rows));
    request.set_want_dense(!values.fresh_dense.empty());
    // Precision that a difference loses on the way would never be recovered.
    request.set_half_dense(options_.half_dense && values.kind != PushKind::kDelta);
    auto tensors = std::make_shared<TensorWriter>();
    AddSparse(values, s, splits, &request, tensors.get());
    AddDense(values, s, &request, tensors.get());
    ServerCall& call = calls.emplace_back(MakeCall(s, head, *tensors));
    if (values.kind == PushKind::kInRound) {
      call.timeout_ms = kNoTimeoutMs;
      call.again = [this, head, tensors](const wire::ResponseHead& response) mutable {
        if (!response.push().send_again()) return std::optional<Payload>();
        head.set_sequence(NextSequence());
        return std::optional(EncodeRequest(head, *tensors));
      };
    }
    const bool half = request.half_dense();
    const bool in_round = values.kind == PushKind::kInRound;
    call.take = [this, s, half, in_round,
                 fresh = values.fresh_dense](ResponseMessage& response) -> Status {
      FL_RETURN_IF_ERROR(SeeStep(response.head.push().global_step()));
      const uint64_t pauses = response.head.push().pauses_asked();
      SeePauses(pauses);
      if (in_round && s == 0) pauses_in_rounds_ = pauses;
      return fresh.empty() ? response.tensors.Finish() : TakeDense(s, half, fresh, response);
    };
  }
  return calls_.Start("push", std::move(calls));
}

Status PsClient::TakeDense(int server, bool half, std::span<float> out,
                           ResponseMessage& response) const {
  FL_CHECK(out.size() == static_cast<size_t>(layout_.size()));
  const DenseRange range = DenseRangeOf(layout_.size(), server, servers());
  const std::span<float> slice = out.subspan(range.begin, range.size());
  FL_RETURN_IF_ERROR(half ? response.tensors.ReadHalf(slice) : response.tensors.Read(slice));
  return response.tensors.Finish();
}

Status PsClient::PullDense(std::span<float> out) { return StartPullDense(out)->Wait(); }

std::unique_ptr<PendingCalls> PsClient::StartPullDense(std::span<float> out) {
  std::vector<ServerCall> calls;
  for (int s = 0; s < servers(); ++s) {
    if (DenseRangeOf(layout_.size(), s, servers()).size() == 0) continue;
    ServerCall& call = calls.emplace_back(MakeCall(s, MakeHead(wire::METHOD_PULL_DENSE), {}));
    call.take = [this, s, out](ResponseMessage& response) {
      return TakeDense(s, false, out, response);
    };
  }
  return calls_.Start("pull dense", std::move(calls));
}

Status PsClient::PullDirty(uint64_t max_rows_per_table, DirtyValues* out) {
  out->more = false;
  out->sparse.resize(spec_.tables.size());
  for (size_t t = 0; t < out->sparse.size(); ++t) {
    out->sparse[t].dim = spec_.tables[t].dim;
    out->sparse[t].ids.clear();
  }
  out->dense.resize(servers());
  std::vector<ServerCall> calls;
  for (int s = 0; s < servers(); ++s) {
    wire::RequestHead head = MakeHead(wire::METHOD_PULL_DIRTY);
    head.set_sequence(NextSequence());
    head.mutable_pull_dirty()->set_max_rows(max_rows_per_table);
    ServerCall& call = calls.emplace_back(MakeCall(s, std::move(head), {}));
    call.take = [this, s, out](ResponseMessage& response) { return TakeDirty(s, response, out); };
  }
  return calls_.Run("pull dirty", std::move(calls));
}

Status PsClient::TakeDirty(int server, ResponseMessage& response, DirtyValues* dirty) const {
  const wire::PullDirtyResponse& body = response.head.pull_dirty();
  dirty->more = dirty->more || body.more();
  for (SparseRows& rows : dirty->sparse) {
    const size_t before = rows.ids.size();
    FL_RETURN_IF_ERROR(response.tensors.ReadMore(&rows.ids));
    const size_t floats = (rows.ids.size() - before) * static_cast<size_t>(rows.dim);
    if (response.tensors.next_elements() != floats) {
      return InvalidArgument("{} values for {} rows of dimension {}",
                             response.tensors.next_elements(), rows.ids.size() - before, rows.dim);
    }
    // Elements beyond that are from an earlier call.
    rows.values.resize(before * static_cast<size_t>(rows.dim));
    FL_RETURN_IF_ERROR(response.tensors.ReadMore(&rows.values));
  }
  DirtyDense& dense = dirty->dense[server];
  dense.ranges.clear();
  FL_RETURN_IF_ERROR(response.tensors.ReadAll(&dense.values));
  const DenseRange slice = DenseRangeOf(layout_.size(), server, servers());
  const auto size = static_cast<uint64_t>(slice.size());
  if (body.dense_begins_size() != body.dense_lengths_size()) {
    return InvalidArgument("{} begins of changed ranges, {} lengths", body.dense_begins_size(),
                           body.dense_lengths_size());
  }
  uint64_t floats = 0;
  for (int i = 0; i < body.dense_begins_size(); ++i) {
    const uint64_t begin = body.dense_begins(i);
    const uint64_t length = body.dense_lengths(i);
    if (begin > size || length > size - begin || length > dense.values.size() - floats) {
      return InvalidArgument("{} changed values at {} of a slice of {}, {} came in all", length,
                             begin, size, dense.values.size());
    }
    floats += length;
    dense.ranges.push_back({slice.begin + static_cast<int64_t>(begin),
                            slice.begin + static_cast<int64_t>(begin + length)});
  }
  if (floats != dense.values.size()) {
    return InvalidArgument("{} changed values, {} in ranges", dense.values.size(), floats);
  }
  return response.tensors.Finish();
}

Status PsClient::EnterRounds() {
  return calls_.Run("enter rounds", CallsToAll(MakeHead(wire::METHOD_ENTER_ROUNDS)));
}

Status PsClient::LeaveRounds() {
  return calls_.Run("leave rounds", CallsToAll(MakeHead(wire::METHOD_LEAVE_ROUNDS)));
}

}  // namespace flotilla
