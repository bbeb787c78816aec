// Trains a model of the user on rows: reads the data, runs the trainer over it, scores test rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/run/open_data.h"
#include "flotilla/run/task.h"
#include "flotilla/run/train_options.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {

class RowTask : public Task {
 public:
  // REQUIRES: options and model outlive the task; model->graph.status().ok().
  RowTask(const TrainOptions* options, const Model* model) : options_(*options), model_(*model) {}

  Status Prepare(Terminal& /*terminal*/, const Interrupt* /*interrupt*/) override {
    return absl::OkStatus();
  }
  const Model& model() const override { return model_; }
  // The rows of this run must have the format that the loaded model was trained on.
  Status CheckStart(const Sections& sections) const override;
  Status Start(const TaskRun* run) override;
  StatusOr<std::map<std::string, std::string>> Settings() override;
  Status OpenData() override;
  int64_t epoch_rows() const override { return train_.rows; }
  double load_seconds() const override { return train_.load_seconds; }
  bool in_memory() const override { return options_.data.in_memory; }

  StatusOr<Report> TrainEpoch(int64_t epoch, const std::optional<DatasetPosition>& position,
                              const Report& before) override;
  DatasetPosition position() const override { return train_.dataset->position(); }
  Report so_far() const override { return trainer_->SoFar(); }
  DatasetCounts counts() const override { return train_.dataset->counts(); }
  void AddMetrics(Progress* progress) const override { trainer_->AddMetrics(progress); }
  bool has_test() const override { return !options_.data.test.empty(); }
  StatusOr<Report> Test() override { return trainer_->Evaluate(*test_.dataset); }
  StatusOr<Sections> sections() const override;

 private:
  // This trainer's share of the rows of these files.
  StatusOr<OpenedData> OpenShare(OpenDataOptions what, std::shared_ptr<const Parser> parser);

  const TrainOptions& options_;
  const Model& model_;
  const TaskRun* run_ = nullptr;
  std::vector<std::string> train_files_, test_files_;
  OpenedData train_, test_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace flotilla
