// The common base of the modes whose parameters live on servers (sync, half-async, async): rows are
// pulled from the servers, dense parameters are a copy in this process. The mode decides when that
// copy is refreshed, and what a push does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/gradient_buffers.h"

namespace flotilla {

class ServerCommunicator : public Communicator {
 public:
  int trainer() const override { return client_->options().trainer; }
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override;
  std::span<const float> dense() const override { return dense_; }
  int64_t global_step() const override { return client_->global_step(); }
  Status AskPause(uint64_t taken) override { return client_->AskPause(taken); }
  uint64_t pauses_asked() const override { return client_->pauses_asked(); }
  double learning_rate() const override;
  StatusOr<Tensor> ReadParameter(const std::string& name) override;
  Status WriteParameter(const std::string& name, std::span<const float> values) override;
  Status WriteRows(const std::string& table, const SparseRows& rows) override;
  Status Refresh() override { return RefreshDense(); }
  StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) override;
  StatusOr<LoadedModel> Load(const std::string& dir, const LoadOptions& options) override;

 protected:
  // The client must be connected to its servers and outlive the communicator.
  explicit ServerCommunicator(PsClient* client);

  PsClient& client() const { return *client_; }
  std::span<float> live_dense() { return dense_; }
  Status RefreshDense() { return client_->PullDense(dense_); }

  // InvalidArgument if `gradients` do not fit the model.
  Status CheckGradients(const Gradients& gradients) const;
  // Sends the gradients of `batches` batches; Wait of the result waits until they are applied and
  // copies the dense parameters after that. Takes the buffers of `gradients`. `sequences`: as in
  // PsClient::StartPush.
  StatusOr<Pending> StartPushAndRefresh(PushKind kind, Gradients& gradients, int batches,
                                        PushSequences* sequences = nullptr);
  // Sends an empty part into a round, with the same result.
  StatusOr<Pending> StartEmptyPush();

 private:
  // Refreshes the copy of the dense parameters, which others may have changed since the last epoch.
  Status DoBeginEpoch(const EpochStart& /*start*/) override { return RefreshDense(); }

  PsClient* const client_;
  GradientBuffers buffers_;
  AlignedVector<float> dense_;
};

}  // namespace flotilla
