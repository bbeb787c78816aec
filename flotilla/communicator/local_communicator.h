// The mode without servers: the parameters live in the tables of this process, and the worker that
// pushes runs the update rule in place. It is the reference for speed; in joined form it implements
// deterministic training.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/checkpoint/writer.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/optim/update_rule.h"
#include "flotilla/table/dense_table.h"
#include "flotilla/table/sparse_table.h"

namespace flotilla {

struct LocalOptions {
  // Workers synchronize after each round and the trainer pushes once (deterministic training);
  // otherwise each worker pushes independently (Hogwild).
  bool joined = false;
  TableOptions tables;  // in_order: for steps in place
  WriterOptions save;
};

class LocalCommunicator : public Communicator, private DenseInPlace, private TablesInPlace {
 public:
  // An error says what is wrong in the spec and where.
  static StatusOr<std::unique_ptr<LocalCommunicator>> Make(ModelSpec spec, LocalOptions options);

  Schedule schedule() const override {
    return {.joined = options_.joined, .shares_batch = options_.joined};
  }
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override;
  // Counts a step and applies its gradients with the rate of that step. An error (sizes that do not
  // fit the model, an id out of a table's bounds) names what is wrong; a wrong number of dense
  // gradients or tables changes nothing.
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override;
  std::span<const float> dense() const override { return dense_->data(); }
  int64_t global_step() const override { return StepOf(pushes()); }
  Status AskPause(uint64_t taken) override {
    pauses_asked_ = taken + 1;
    return absl::OkStatus();
  }
  uint64_t pauses_asked() const override { return pauses_asked_; }
  double learning_rate() const override;
  Status ScaleLearningRate(double factor) override;
  StatusOr<Tensor> ReadParameter(const std::string& name) override;
  Status WriteParameter(const std::string& name, std::span<const float> values) override;
  Status WriteRows(const std::string& table, const SparseRows& rows) override;
  StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) override;
  StatusOr<LoadedModel> Load(const std::string& dir, const LoadOptions& options) override;

  // The table with this index in the spec, for fused steps (rows in place), saving and reports.
  SparseTable& table(int index) { return *tables_[index]; }
  DenseTable& dense_table() { return *dense_; }
  // Continues a training from elsewhere: sets the global step to `step`; new rows start, from now
  // on, as in the model with this seed. REQUIRES: no step is running.
  void StartFrom(int64_t step, uint64_t seed);
  // Sets the global step to `step` and the number of steps that every push adds to it: the number
  // of active trainers if each has a communicator like this one (GEO). Adam's bias correction still
  // counts the pushes made here, as its state does. REQUIRES: no step is running.
  void CountFrom(int64_t step, int64_t steps_per_push);

 private:
  LocalCommunicator(ModelSpec spec, LocalOptions options);

  // Push has already applied everything.
  Status DoFlush() override { return absl::OkStatus(); }

  void Update(int parameter, GradientSource gradient) override;

  StatusOr<Work> Begin(int worker) override;
  Status End(int worker, Work work, std::span<const std::vector<uint32_t>> touched) override;
  bool wants_touched() const override { return false; }

  // The global step after `pushes` pushes.
  int64_t StepOf(int64_t pushes) const {
    return first_step_ + (pushes - first_push_) * steps_per_push_;
  }
  int64_t pushes() const { return pushes_.load(std::memory_order_relaxed); }
  // The schedule's rate for the push with this number, counted from 1.
  double RateOf(int64_t push) const;
  Tensor ReadTable(const SparseTable& table) const;
  // Implements Load; its errors do not name the directory.
  StatusOr<LoadedModel> LoadFrom(const std::string& dir, const LoadOptions& options);

  const LocalOptions options_;
  UpdateForm form_ = UpdateForm::kOther;  // of the optimizer
  std::unique_ptr<DenseTable> dense_;
  std::vector<std::unique_ptr<SparseTable>> tables_;
  std::atomic<int64_t> pushes_ = 0;
  std::atomic<uint64_t> pauses_asked_ = 0;
  // The global step was first_step_ after first_push_ pushes, and each push since adds
  // steps_per_push_. Changed between epochs; reports may read meanwhile.
  std::atomic<int64_t> first_step_ = 0;
  std::atomic<int64_t> first_push_ = 0;
  std::atomic<int64_t> steps_per_push_ = 1;
  std::atomic<double> rate_factor_ = 1;  // changed between epochs; reports may read meanwhile
};

}  // namespace flotilla
