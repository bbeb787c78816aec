#include "flotilla/communicator/server_communicator.h"

#include <algorithm>
#include <memory>

#include "flotilla/communicator/server_parameters.h"
#include "flotilla/communicator/server_save.h"
#include "flotilla/optim/schedule.h"

namespace flotilla {

ServerCommunicator::ServerCommunicator(PsClient* client)
    : Communicator(client->spec()),
      client_(client),
      dense_(static_cast<size_t>(client->layout().size())) {}

StatusOr<Pending> ServerCommunicator::StartPull(int /*worker*/, Missing missing,
                                                std::span<SparseRows> rows) {
  return Pending(client_->StartPull(missing, rows));
}

double ServerCommunicator::learning_rate() const {
  return LearningRate(spec().optimizer.learning_rate, global_step());
}

StatusOr<Tensor> ServerCommunicator::ReadParameter(const std::string& name) {
  return ReadServerParameter(*client_, name);
}

Status ServerCommunicator::WriteParameter(const std::string& name, std::span<const float> values) {
  FL_RETURN_IF_ERROR(WriteServerParameter(*client_, name, values));
  const int p = FindParameter(spec(), name);
  std::copy(values.begin(), values.end(), dense_.begin() + layout().offset(p));
  return absl::OkStatus();
}

Status ServerCommunicator::WriteRows(const std::string& table, const SparseRows& rows) {
  return WriteServerRows(*client_, table, rows);
}

Status ServerCommunicator::CheckGradients(const Gradients& gradients) const {
  if (gradients.sparse.size() != spec().tables.size()) {
    return InvalidArgument("push of {} tables, the model has {}", gradients.sparse.size(),
                           spec().tables.size());
  }
  if (gradients.dense.size() != static_cast<size_t>(layout().size())) {
    return InvalidArgument("push of {} dense gradients, the model has {}", gradients.dense.size(),
                           layout().size());
  }
  return absl::OkStatus();
}

StatusOr<Pending> ServerCommunicator::StartPushAndRefresh(PushKind kind, Gradients& gradients,
                                                          int batches, PushSequences* sequences) {
  FL_RETURN_IF_ERROR(CheckGradients(gradients));
  const std::shared_ptr<const Gradients> taken = buffers_.Exchange(gradients);
  const PushValues values{.kind = kind,
                          .dense = taken->dense,
                          .sparse = taken->sparse,
                          .batches = batches,
                          .rows = taken->rows,
                          .owner = taken,
                          .fresh_dense = dense_};
  return Pending(client_->StartPush(values, sequences));
}

StatusOr<Pending> ServerCommunicator::StartEmptyPush() {
  const auto nothing = std::make_shared<std::vector<SparseRows>>(spec().tables.size());
  for (size_t t = 0; t < nothing->size(); ++t) (*nothing)[t].dim = spec().tables[t].dim;
  const PushValues values{.kind = PushKind::kInRound,
                          .sparse = *nothing,
                          .batches = 0,
                          .owner = nothing,
                          .fresh_dense = dense_};
  return Pending(client_->StartPush(values));
}

StatusOr<std::unique_ptr<PendingSave>> ServerCommunicator::BeginSave(const SaveContents& contents) {
  return BeginServerSave(client_, contents, /*has_state=*/true);
}

StatusOr<LoadedModel> ServerCommunicator::Load(const std::string& dir, const LoadOptions& options) {
  FL_ASSIGN_OR_RETURN(LoadedModel loaded,
                      LoadIntoServers(client_, dir, options, /*has_state=*/true));
  FL_RETURN_IF_ERROR(RefreshDense());
  return loaded;
}

}  // namespace flotilla
