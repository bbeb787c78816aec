// Trains several models on the same rows in memory, one after the other and each with its own
// optimizer, batches and epochs, and combines them into one model, the mean of their logits
// (models/mean_model.h). The run sees one model: it tests and saves the combined one, after the
// last epoch of the last member. In one process only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/communicator/local_communicator.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/task.h"
#include "flotilla/run/train_options.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {

struct MeanMember {
  std::string scope;  // parameter NAME of the model is SCOPE + NAME of the mean
  Model model;
  int64_t batch_size = 1000;
  int64_t epochs = 1;
};

class MeanTask : public Task {
 public:
  // An epoch of the run is an epoch of one member: the run must have as many as all members
  // together. `mean` has the parameters of all members, and all have the inputs of `rows`, in their
  // order. REQUIRES: rows outlives the task.
  MeanTask(TrainOptions options, Model mean, std::vector<MeanMember> members, LoadedRows* rows);
  ~MeanTask() override;

  Status Prepare(Terminal& /*terminal*/, const Interrupt* /*interrupt*/) override {
    return absl::OkStatus();
  }
  const Model& model() const override { return mean_; }
  bool can_resume() const override { return false; }
  Status Start(const TaskRun* run) override;
  StatusOr<std::map<std::string, std::string>> Settings() override {
    return std::map<std::string, std::string>();
  }
  Status OpenData() override;
  int64_t epoch_rows() const override { return rows_.train->rows(); }
  double load_seconds() const override { return rows_.seconds; }
  bool in_memory() const override { return true; }

  StatusOr<Report> TrainEpoch(int64_t epoch, const std::optional<DatasetPosition>& position,
                              const Report& before) override;
  DatasetPosition position() const override { return now_->dataset->position(); }
  Report so_far() const override { return now_->trainer->SoFar(); }
  DatasetCounts counts() const override { return now_->dataset->counts(); }
  void AddMetrics(Progress* progress) const override { now_->trainer->AddMetrics(progress); }
  // The mean is complete after the last epoch only.
  bool has_test() const override { return test_ != nullptr && complete_; }
  StatusOr<Report> Test() override { return mean_trainer_->Evaluate(*test_); }
  StatusOr<Sections> sections() const override;

 private:
  // A member and its training.
  struct Training {
    MeanMember member;
    std::unique_ptr<InMemoryDataset> dataset;
    std::unique_ptr<LocalCommunicator> parameters;
    std::unique_ptr<Trainer> trainer;
    int64_t first_epoch = 0;  // of the run
  };

  // Copies the parameters of all members into those of the run.
  Status Combine();

  const TrainOptions options_;
  const Model mean_;
  LoadedRows& rows_;
  std::vector<Training> trainings_;
  Training* now_ = nullptr;  // the one that trains, or trained last
  const TaskRun* run_ = nullptr;
  std::unique_ptr<InMemoryDataset> test_;
  std::unique_ptr<Trainer> mean_trainer_;  // for tests
  bool complete_ = false;
};

// Copies every parameter and every row of `from` into the parameter or table of `to` with the same
// name behind `prefix`. Optimizer states are not copied. Errors as Keeper::WriteParameter and
// WriteRows. REQUIRES: no step is running.
Status CopyParameters(LocalCommunicator& from, const std::string& prefix, Keeper* to);

}  // namespace flotilla
