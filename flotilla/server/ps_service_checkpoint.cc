// The methods of the service that save and load.
#include <utility>

#include "flotilla/server/ps_service.h"
#include "flotilla/server/ps_service_call.h"

namespace flotilla {

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
    case wire::SAVE_END:
      checkpoint_.End();
      return Answer(call, absl::OkStatus());
    default:
      return Answer(call, InvalidArgument("phase {} of a save", static_cast<int>(request.phase())));
  }
}

void PsService::BeginSave(const std::shared_ptr<Call>& call) {
  const wire::SaveRequest& request = call->head().save();
  StatusOr<std::vector<int>> tables = Indices(request.tables(), tables_->spec().tables.size());
  if (!tables.ok()) return Answer(call, tables.status());
  const auto save = checkpoint_.Begin(*std::move(tables), request.optimizer_state(), global_step());
  if (!save.ok()) return Answer(call, save.status());
  // The window remembers the answer as long as the save lives, not longer.
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

void PsService::Load(const std::shared_ptr<Call>& call) {
  const wire::LoadRequest& request = call->head().load();
  const ModelSpec& spec = tables_->spec();
  StatusOr<std::vector<int>> tables = Indices(request.tables(), spec.tables.size());
  StatusOr<std::vector<int>> parameters = Indices(request.parameters(), spec.parameters.size());
  if (!tables.ok()) return Answer(call, tables.status());
  if (!parameters.ok()) return Answer(call, parameters.status());
  const ServerLoad load{.tables = *std::move(tables),
                        .parameters = *std::move(parameters),
                        .optimizer_state = request.optimizer_state(),
                        .go_on = request.go_on()};
  checkpoint_.Load(request.directory(), load, [this, call, load](StatusOr<int64_t> step) {
    if (!step.ok()) return Answer(call, step.status());
    step_ = load.go_on ? *step : 0;
    Answer(call, true, [step = global_step(), seed = tables_->seed()] {
      wire::ResponseHead head;
      head.mutable_load()->set_global_step(static_cast<uint64_t>(step));
      head.mutable_load()->set_seed(seed);
      return EncodeResponse(std::move(head), {});
    });
  });
}

Status PsService::LoadModel(const std::string& directory, const ServerLoad& load) {
  const StatusOr<int64_t> step = checkpoint_.LoadNow(directory, load);
  if (!step.ok()) return Annotate(step.status(), fmt::format("load {}", directory));
  step_ = load.go_on ? *step : 0;
  return absl::OkStatus();
}

}  // namespace flotilla
