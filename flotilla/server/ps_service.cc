// Admission of requests, handling each exactly once, and the methods about the state of the job;
// ps_service_tables.cc has those that use parameters, ps_service_checkpoint.cc those that save and
// load.
#include "flotilla/server/ps_service.h"

#include <utility>

#include "flotilla/kernels/denormals.h"
#include "flotilla/rpc/model_text.h"
#include "flotilla/server/ps_service_call.h"

namespace flotilla {

namespace {

// Waits for other trainers are logged after this time, and again at the same interval.
constexpr int64_t kTellWaitNanos = 30'000'000'000;

std::string MethodName(wire::Method method) {
  return wire::Method_IsValid(method) ? wire::Method_Name(method)
                                      : fmt::format("method {}", static_cast<int>(method));
}

PsServiceOptions WithTrainers(PsServiceOptions options) {
  options.rounds.trainers = options.liveness.trainers;
  return options;
}

}  // namespace

PsService::PsService(const ModelSpec& spec, PsServiceOptions options, const Clock* clock,
                     LogLine log, std::unique_ptr<ServerTables> tables)
    : options_(WithTrainers(std::move(options))),
      model_text_(ModelText(spec, options_.model_extra)),
      clock_(clock),
      log_(std::move(log)),
      tables_(std::move(tables)),
      watch_(options_.tick_ms, options_.liveness.silent_bound_ms / 4),
      liveness_(options_.liveness, clock),
      window_(options_.liveness.trainers, options_.push_window),
      rounds_(options_.rounds, tables_.get(), clock,
              [this](const RoundPart& mean) { return ApplyRound(mean); }),
      collectives_(options_.liveness.trainers, clock),
      dirty_(options_.liveness.trainers, tables_->tables(), tables_->range().size()),
      checkpoint_(tables_.get(), fmt::format("server-{}", options_.server), options_.save,
                  &give_up_) {}

StatusOr<std::unique_ptr<PsService>> PsService::Make(const ModelSpec& spec,
                                                     PsServiceOptions options, const Clock* clock,
                                                     LogLine log) {
  if (options.liveness.trainers < 1) {
    return InvalidArgument("a job of {} trainers", options.liveness.trainers);
  }
  FL_ASSIGN_OR_RETURN(auto tables, ServerTables::Make(spec, options.server, options.servers,
                                                      options.policy, options.tables));
  return std::unique_ptr<PsService>(
      new PsService(spec, std::move(options), clock, std::move(log), std::move(tables)));
}

std::span<const PsService::Method> PsService::JobMethods() {
  using Head = wire::RequestHead;
  using enum Caller;
  using enum Repeat;
  static constexpr Method kMethods[] = {
      {wire::METHOD_HANDSHAKE, Head::kHandshake, kAny, kHarmless, &PsService::Handshake},
      {wire::METHOD_PING, Head::BODY_NOT_SET, kJoined, kHarmless, &PsService::Ping},
      {wire::METHOD_ENTER_ROUNDS, Head::BODY_NOT_SET, kJoined, kOnce, &PsService::EnterRounds},
      {wire::METHOD_LEAVE_ROUNDS, Head::BODY_NOT_SET, kJoined, kOnce, &PsService::LeaveRounds},
      {wire::METHOD_COLLECTIVE, Head::kCollective, kJoined, kHarmless, &PsService::Collective},
      // Trainers may tell a server that was restarted in a running job that the job has failed.
      {wire::METHOD_ABORT, Head::kAbort, kJoinedOrUnknown, kHarmless, &PsService::Abort},
      // A trainer that stops need not be told about the failures of others.
      {wire::METHOD_STOP, Head::kStop, kJoinedOrFailed, kHarmless, &PsService::Stop},
      {wire::METHOD_ASK_PAUSE, Head::kAskPause, kJoined, kHarmless, &PsService::AskPause},
      {wire::METHOD_DEAL_SHARES, Head::kDealShares, kJoined, kOnce, &PsService::DealShares},
      {wire::METHOD_TAKE_SHARE, Head::kTakeShare, kJoined, kOnce, &PsService::TakeShare},
  };
  return kMethods;
}

const PsService::Method* PsService::Find(wire::Method number) {
  for (const auto methods : {JobMethods(), ParameterMethods(), CheckpointMethods()}) {
    for (const Method& method : methods) {
      if (method.number == number) return &method;
    }
  }
  return nullptr;
}

void PsService::Handle(Payload request, ReplyCallback reply) {
  const kernels::FlushDenormals flush;
  auto call = std::make_shared<Call>();
  if (std::optional<Payload> refusal = Admit(std::move(request), call.get())) {
    return reply(*std::move(refusal));
  }
  call->reply = std::move(reply);
  if (call->method->repeat == Repeat::kOnce) {
    const auto verdict =
        window_.Begin(call->trainer, call->head().incarnation(), call->head().sequence(),
                      [reply = call->reply](const Payload& response) { reply(response); });
    if (!verdict.ok()) return call->reply(EncodeError(verdict.status(), false));
    if (*verdict != PushWindow::Verdict::kNew) return;
  }
  (this->*call->method->handler)(call);
}

std::optional<Payload> PsService::Admit(Payload request, Call* call) {
  StatusOr<RequestMessage> message = DecodeRequest(std::move(request));
  if (!message.ok()) return EncodeError(message.status(), false);
  call->message = *std::move(message);
  const wire::RequestHead& head = call->head();
  Status status = CheckSender(head);
  if (!status.ok()) return EncodeError(status, false);
  call->trainer = static_cast<int>(head.sender_index());
  call->method = Find(head.method());
  if (call->method == nullptr) {
    return ErrorFor(call->trainer,
                    absl::UnimplementedError("unknown " + MethodName(head.method())));
  }
  if (head.body_case() != wire::RequestHead::BODY_NOT_SET &&
      head.body_case() != call->method->body) {
    status = InvalidArgument("{} with the body of another method", MethodName(head.method()));
    return EncodeError(status, false);
  }
  const Caller caller = call->method->caller;
  if (caller == Caller::kAny) return std::nullopt;
  if (caller == Caller::kJoinedOrUnknown && !window_.HasLife(call->trainer)) return std::nullopt;
  status = window_.CheckLife(call->trainer, head.incarnation());
  if (!status.ok()) return EncodeError(status, false);
  status = liveness_.Heard(call->trainer);
  if (status.ok() && caller != Caller::kJoinedOrFailed) status = liveness_.status();
  if (!status.ok()) return ErrorFor(call->trainer, status);
  return std::nullopt;
}

Status PsService::CheckSender(const wire::RequestHead& head) const {
  if (head.protocol_version() != kProtocolVersion) {
    return FailedPrecondition("protocol version {}, the server has {}: use one build of flotilla",
                              head.protocol_version(), kProtocolVersion);
  }
  if (head.job_id() != options_.job_id) {
    return FailedPrecondition("a request of job \"{}\", this server belongs to job \"{}\"",
                              head.job_id(), options_.job_id);
  }
  if (head.sender_kind() != wire::SENDER_TRAINER ||
      head.sender_index() >= static_cast<uint32_t>(options_.liveness.trainers)) {
    return InvalidArgument("a request of trainer {}, the job has {}", head.sender_index(),
                           options_.liveness.trainers);
  }
  if (head.shard_map_version() != options_.shard_map_version) {
    return FailedPrecondition("shard map {}, the server has {}", head.shard_map_version(),
                              options_.shard_map_version);
  }
  return absl::OkStatus();
}

Payload PsService::ErrorFor(int trainer, const Status& error) {
  const bool job_failed = !liveness_.status().ok();
  if (job_failed) liveness_.Told(trainer);
  return EncodeError(job_failed ? liveness_.status() : error, job_failed);
}

void PsService::Answer(const std::shared_ptr<Call>& call, const Status& error) {
  const Payload response = error.ok() ? EncodeResponse({}, {}) : ErrorFor(call->trainer, error);
  Answer(call, error.ok(), [response] { return response; });
}

void PsService::Answer(const std::shared_ptr<Call>& call, bool applied,
                       const PushWindow::MakeResponse& make) {
  if (call->method->repeat == Repeat::kHarmless) return call->reply(make());
  window_.Finish(call->trainer, call->head().incarnation(), call->head().sequence(), applied, make);
}

void PsService::Handshake(const std::shared_ptr<Call>& call) {
  const int trainer = call->trainer;
  if (const Status failed = liveness_.status(); !failed.ok()) {
    // Another process with the same trainer index must not receive it instead of the trainer.
    if (window_.CheckLife(trainer, call->head().incarnation()).ok()) liveness_.Told(trainer);
    return call->reply(EncodeError(failed, true));
  }
  Status status = CheckHandshake(call->head());
  if (status.ok()) status = StartLife(trainer, call->head().incarnation());
  if (!status.ok()) {
    liveness_.Refused(trainer, status);
    if (log_) log_(fmt::format("trainer {} was refused: {}", trainer, Message(status)));
    return Answer(call, status);
  }
  wire::ResponseHead head;
  head.mutable_handshake()->set_global_step(static_cast<uint64_t>(global_step()));
  head.mutable_handshake()->set_next_collective(collectives_.next());
  head.mutable_handshake()->set_seed(tables_->seed());
  head.mutable_handshake()->set_server_life(options_.life);
  call->reply(EncodeResponse(std::move(head), {}));
}

Status PsService::StartLife(int trainer, uint64_t incarnation) {
  if (window_.StartLife(trainer, incarnation)) return liveness_.Join(trainer);
  return absl::AbortedError(fmt::format(
      "another process has joined this run as trainer {}: {}. A trainer cannot be started twice, "
      "and one that was restarted cannot rejoin: stop all processes and restart the job with "
      "--resume",
      trainer, liveness_.Describe(trainer)));
}

Status PsService::CheckHandshake(const wire::RequestHead& head) const {
  const wire::HandshakeRequest& said = head.handshake();
  const int trainers = options_.liveness.trainers;
  if (head.incarnation() == 0) {
    return InvalidArgument("a handshake of trainer {} without an incarnation", head.sender_index());
  }
  if (said.servers() != static_cast<uint32_t>(options_.servers) ||
      said.trainers() != static_cast<uint32_t>(trainers)) {
    return FailedPrecondition(
        "trainer {} knows {} servers and {} trainers, server {} knows {} and {}",
        head.sender_index(), said.servers(), said.trainers(), options_.server, options_.servers,
        trainers);
  }
  if (said.server_index() != static_cast<uint32_t>(options_.server)) {
    return FailedPrecondition("trainer {} takes this server for number {}, it is number {}",
                              head.sender_index(), said.server_index(), options_.server);
  }
  const std::string difference = FirstDifference(model_text_, said.model_text());
  if (difference.empty()) return absl::OkStatus();
  return FailedPrecondition("the models of server {} and trainer {} differ: {}", options_.server,
                            head.sender_index(), difference);
}

void PsService::Ping(const std::shared_ptr<Call>& call) {
  wire::ResponseHead head;
  head.mutable_ping()->set_waiting(WaitText(call->trainer));
  head.mutable_ping()->set_pauses_asked(pauses_asked_);
  {
    MutexLock lock(stop_mutex_);
    head.mutable_ping()->set_stop_cause(stop_cause_);
  }
  call->reply(EncodeResponse(std::move(head), {}));
}

void PsService::AskStop(const std::string& cause) {
  give_up_.Raise(ResourceExhausted("{}", cause));
  MutexLock lock(stop_mutex_);
  stop_cause_ = cause;
}

std::string PsService::WaitText(int trainer) const {
  std::optional<PeerWait> wait = collectives_.WaitOf(trainer);
  if (!wait.has_value()) wait = rounds_.WaitOf(trainer);
  const int64_t now = clock_->NowNanos();
  if (!wait.has_value() || wait->missing.empty()) return "";
  if (now - wait->since_nanos < kTellWaitNanos) return "";
  return ToString(*wait, now);
}

void PsService::TellWaits() {
  const int64_t now = clock_->NowNanos();
  if (!log_ || now - told_waits_nanos_ < kTellWaitNanos) return;
  // The other trainers wait for the same ones, or will soon.
  for (int t = 0; t < options_.liveness.trainers; ++t) {
    const std::string text = WaitText(t);
    if (text.empty()) continue;
    told_waits_nanos_ = now;
    return log_(fmt::format("trainer {} is {}", t, text));
  }
}

void PsService::EnterRounds(const std::shared_ptr<Call>& call) {
  rounds_.Enter(call->trainer,
                [this, call](const RoundResult& result) { Answer(call, result.status); });
}

void PsService::LeaveRounds(const std::shared_ptr<Call>& call) {
  rounds_.Leave(call->trainer);
  Answer(call, absl::OkStatus());
}

void PsService::Collective(const std::shared_ptr<Call>& call) {
  collectives_.Join(call->trainer, call->head().collective(), std::move(call->message.tensors),
                    [this, call](StatusOr<Payload> response) {
                      if (!response.ok()) return Answer(call, response.status());
                      call->reply(*std::move(response));
                    });
}

void PsService::Abort(const std::shared_ptr<Call>& call) {
  const wire::AbortRequest& request = call->head().abort();
  // An invalid code, or Ok, is not a cause.
  const auto code = request.code() == 0 ? absl::StatusCode::kUnknown
                                        : static_cast<absl::StatusCode>(request.code());
  Fail(Status(code, fmt::format("trainer {}: {}", call->trainer, request.message())));
  liveness_.Told(call->trainer);
  call->reply(EncodeResponse({}, {}));
}

void PsService::Stop(const std::shared_ptr<Call>& call) {
  rounds_.Lose(call->trainer);
  collectives_.Leave(call->trainer);
  // Answer first: the server may end as soon as the last trainer counts as stopped.
  call->reply(EncodeResponse({}, {}));
  if (call->head().stop().asked()) stopped_as_asked_ = true;
  liveness_.Stop(call->trainer);
}

void PsService::AskPause(const std::shared_ptr<Call>& call) {
  // Several trainers may ask for the same pause.
  const uint64_t wanted = call->head().ask_pause().taken() + 1;
  uint64_t asked = pauses_asked_;
  while (asked < wanted && !pauses_asked_.compare_exchange_weak(asked, wanted)) {
  }
  call->reply(EncodeResponse({}, {}));
}

void PsService::DealShares(const std::shared_ptr<Call>& call) {
  constexpr uint32_t kMaxShares = 1 << 20;
  const wire::DealSharesRequest& request = call->head().deal_shares();
  if (request.count() > kMaxShares) {
    return Answer(call, InvalidArgument("{} shares of the rows", request.count()));
  }
  const StatusOr<std::vector<int>> taken = Indices(request.taken(), request.count());
  if (!taken.ok()) return Answer(call, taken.status());
  {
    MutexLock lock(shares_mutex_);
    shares_.Deal(static_cast<int>(request.count()), options_.liveness.trainers, *taken);
  }
  Answer(call, absl::OkStatus());
}

void PsService::TakeShare(const std::shared_ptr<Call>& call) {
  const wire::TakeShareRequest& request = call->head().take_share();
  const StatusOr<std::vector<int>> wanted = Indices(request.wanted(), INT32_MAX);
  if (!wanted.ok()) return Answer(call, wanted.status());
  wire::ResponseHead head;
  {
    MutexLock lock(shares_mutex_);
    if (const std::optional<int> share = shares_.Take(*wanted, request.any())) {
      head.mutable_take_share()->set_taken(true);
      head.mutable_take_share()->set_share(static_cast<uint32_t>(*share));
    }
  }
  Answer(call, true, [head = std::move(head)] { return EncodeResponse(head, {}); });
}

void PsService::Tick() {
  const kernels::FlushDenormals flush;  // a round may be completed here
  // Read the clock only once: a pause that begins after that is detected by the next tick.
  const int64_t now = clock_->NowNanos();
  if (const int64_t paused = watch_.Look(now); paused > 0) {
    if (log_) log_(fmt::format("this process was paused for {:.1f} s", paused / 1e9));
    liveness_.Forgive(now, paused);
  }
  for (const int trainer : liveness_.Check(now)) {
    if (log_) log_(fmt::format("trainer {} is lost, the others continue", trainer));
    rounds_.Lose(trainer);
    collectives_.Leave(trainer);
  }
  if (const Status status = liveness_.status(); !status.ok()) Fail(status);
  TellWaits();
}

void PsService::Fail(const Status& error) {
  liveness_.Fail(error);
  const Status first = liveness_.status();
  if (!failed_.exchange(true) && log_) {
    log_(fmt::format("the job has failed: {}", Message(first)));
  }
  rounds_.Fail(first);
  collectives_.Fail(first);
  window_.CallAll();
}

}  // namespace flotilla
