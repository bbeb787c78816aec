// The methods of the service that save and load.
#include <utility>

#include "flotilla/server/ps_service.h"
#include "flotilla/server/ps_service_call.h"

namespace flotilla {

std::span<const PsService::Method> PsService::CheckpointMethods() {
  using Head = wire::RequestHead;
  using enum Caller;
  using enum Repeat;
  static constexpr Method kMethods[] = {
      {wire::METHOD_SAVE, Head::kSave, kJoined, kOnce, &PsService::Save},
      {wire::METHOD_LOAD, Head::kLoad, kJoined, kOnce, &PsService::Load},
  };
  return kMethods;
}

StatusOr<std::vector<int>> PsService::Indices(
    const google::protobuf::RepeatedField<uint32_t>& numbers, size_t limit) {
  std::vector<int> indices;
  for (const uint32_t number : numbers) {
    if (number >= limit) return InvalidArgument("number {}, the model has {}", number, limit);
    indices.push_back(static_cast<int>(number));
  }
  return indices;
}

void PsService::Save(const std::shared_ptr<Call>& call) {
  const wire::SaveRequest& request = call->head().save();
  switch (request.phase()) {
    case wire::SAVE_BEGIN:
      return BeginSave(call);
    case wire::SAVE_WRITE:
      return checkpoint_.Write(request.directory(), [this, call](StatusOr<std::string> part) {
        if (!part.ok()) return Answer(call, part.status());
        Answer(call, true, [part = *std::move(part)] {
          wire::ResponseHead head;
          head.mutable_save()->set_part(part);
          return EncodeResponse(std::move(head), {});
        });
      });
    case wire::SAVE_COUNT:
      return CountSave(call);
    case wire::SAVE_READ:
      return ReadSave(call);
    case wire::SAVE_END:
      return checkpoint_.End({call->trainer, call->head().sequence()},
                             [this, call] { Answer(call, absl::OkStatus()); });
    default:
      return Answer(call, InvalidArgument("phase {} of a save", static_cast<int>(request.phase())));
  }
}

void PsService::BeginSave(const std::shared_ptr<Call>& call) {
  const wire::SaveRequest& request = call->head().save();
  StatusOr<std::vector<int>> tables = Indices(request.tables(), tables_->spec().tables.size());
  if (!tables.ok()) return Answer(call, tables.status());
  const auto save = checkpoint_.Begin({call->trainer, call->head().sequence()}, *std::move(tables),
                                      request.optimizer_state(), global_step());
  if (!save.ok()) return Answer(call, save.status());
  // The window keeps the answer as long as the save exists, not longer.
  Answer(call, true, [weak = std::weak_ptr<const ServerSave>(*save)] {
    const std::shared_ptr<const ServerSave> begun = weak.lock();
    if (begun == nullptr) return EncodeError(FailedPrecondition("the save has ended"), false);
    wire::ResponseHead head;
    head.mutable_save()->set_global_step(static_cast<uint64_t>(begun->step));
    TensorWriter tensors;
    tensors.AddCopy<float>(begun->dense.weights);
    for (const std::vector<float>& state : begun->dense.states) tensors.AddCopy<float>(state);
    return EncodeResponse(std::move(head), tensors);
  });
}

void PsService::CountSave(const std::shared_ptr<Call>& call) {
  const auto table = static_cast<int>(call->head().save().table());
  StatusOr<std::vector<uint64_t>> counts = checkpoint_.Count(table);
  if (!counts.ok()) return Answer(call, counts.status());
  wire::ResponseHead head;
  head.mutable_save()->set_states(static_cast<uint32_t>(tables_->table(table).layout().states));
  head.mutable_save()->set_meta(tables_->table(table).spec().keep_meta);
  Answer(call, true, [head, counts = *std::move(counts)] {
    TensorWriter tensors;
    tensors.AddCopy<uint64_t>(counts);
    return EncodeResponse(head, tensors);
  });
}

void PsService::ReadSave(const std::shared_ptr<Call>& call) {
  const wire::SaveRequest& request = call->head().save();
  const auto chunk = checkpoint_.Read(static_cast<int>(request.table()),
                                      static_cast<int>(request.first_shard()), request.max_rows());
  if (!chunk.ok()) return Answer(call, chunk.status());
  // The window keeps the answer until the next one is made.
  Answer(call, true, [weak = std::weak_ptr<const ServerCheckpoint::Chunk>(*chunk)] {
    const std::shared_ptr<const ServerCheckpoint::Chunk> rows = weak.lock();
    if (rows == nullptr) return EncodeError(FailedPrecondition("the rows are gone"), false);
    wire::ResponseHead head;
    head.mutable_save()->set_next_shard(static_cast<uint32_t>(rows->next_shard));
    TensorWriter tensors;
    AddStoredRows(rows->rows, &tensors);
    return EncodeResponse(std::move(head), tensors);
  });
}

void PsService::Load(const std::shared_ptr<Call>& call) {
  const wire::LoadRequest& request = call->head().load();
  if (request.phase() != wire::LOAD_DIRECTORY) return Answer(call, LoadPart(*call));
  const ModelSpec& spec = tables_->spec();
  StatusOr<std::vector<int>> tables = Indices(request.tables(), spec.tables.size());
  StatusOr<std::vector<int>> parameters = Indices(request.parameters(), spec.parameters.size());
  if (!tables.ok()) return Answer(call, tables.status());
  if (!parameters.ok()) return Answer(call, parameters.status());
  const LoadParts parts{.tables = *std::move(tables),
                        .parameters = *std::move(parameters),
                        .optimizer_state = request.optimizer_state(),
                        .go_on = request.go_on()};
  checkpoint_.Load(request.directory(), parts, [this, call, parts](StatusOr<int64_t> step) {
    if (step.ok()) step = StepOf(static_cast<uint64_t>(parts.go_on ? *step : 0));
    if (!step.ok()) return Answer(call, step.status());
    step_ = *step;
    Answer(call, true, [step = global_step(), seed = tables_->seed()] {
      wire::ResponseHead head;
      head.mutable_load()->set_global_step(static_cast<uint64_t>(step));
      head.mutable_load()->set_seed(seed);
      return EncodeResponse(std::move(head), {});
    });
  });
}

Status PsService::LoadPart(Call& call) {
  const wire::LoadRequest& request = call.head().load();
  const ModelSpec& spec = tables_->spec();
  switch (request.phase()) {
    case wire::LOAD_BEGIN: {
      FL_ASSIGN_OR_RETURN(const auto tables, Indices(request.tables(), spec.tables.size()));
      return checkpoint_.CheckTablesEmpty(tables);
    }
    case wire::LOAD_ROWS: {
      if (request.table() >= spec.tables.size()) {
        return InvalidArgument("table {}, the model has {}", request.table(), spec.tables.size());
      }
      FL_RETURN_IF_ERROR(give_up_.status());
      StoredRows rows;
      FL_RETURN_IF_ERROR(
          ReadStoredRows(spec.tables[request.table()].dim, &call.message.tensors, &rows));
      return checkpoint_.LoadRows(static_cast<int>(request.table()), rows);
    }
    case wire::LOAD_DENSE: {
      std::vector<float> weights, state;
      FL_RETURN_IF_ERROR(call.message.tensors.ReadAll(&weights));
      FL_RETURN_IF_ERROR(call.message.tensors.ReadAll(&state));
      FL_RETURN_IF_ERROR(call.message.tensors.Finish());
      return checkpoint_.LoadDense(static_cast<int>(request.parameter()), weights, state);
    }
    case wire::LOAD_END: {
      FL_ASSIGN_OR_RETURN(step_, StepOf(request.step()));
      tables_->SetSeed(request.seed());
      return absl::OkStatus();
    }
    default:
      return InvalidArgument("phase {} of a load", static_cast<int>(request.phase()));
  }
}

Status PsService::LoadModel(const std::string& directory, const LoadParts& parts, int threads) {
  StatusOr<int64_t> step = checkpoint_.LoadNow(directory, parts, threads);
  if (step.ok()) step = StepOf(static_cast<uint64_t>(parts.go_on ? *step : 0));
  if (!step.ok()) return Annotate(step.status(), fmt::format("load {}", directory));
  step_ = *step;
  return absl::OkStatus();
}

}  // namespace flotilla
