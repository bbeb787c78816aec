// Trains a model of the user on rows: reads the data, runs the trainer over it, scores test rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/dataset/chained_dataset.h"
#include "flotilla/dataset/prepare/describe_rows.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/task.h"
#include "flotilla/run/train_options.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {

// The model of a run, and what its rows are if it took its inputs from them (row_features.h).
struct RowModel {
  Model model;  // model.graph.status() is ok
  std::optional<DescribedRows> rows = std::nullopt;
  // For options that leave them open.
  int64_t epochs = 1;
  int64_t batch_size = 0;
  // Part of the run over which the learning rate falls (models/zoo.h). REQUIRES: 0, or the number
  // of rows is known.
  double cooldown = 0;
};

// The schedule of a run over `rows` rows, with a cool-down over the last `part` of its steps.
ScheduleSpec WithCooldown(ScheduleSpec schedule, double part, int64_t rows,
                          const TrainOptions& options);

// Makes the model, before the job is joined; may read the training files. Called once.
using MakeRowModel =
    std::function<StatusOr<RowModel>(Terminal& terminal, const Interrupt* interrupt)>;

// Ok if the options of the run fit the model: its watched metric. Errors name the flag.
Status CheckWatch(const Model& model, const TrainOptions& options);

class RowTask : public Task {
 public:
  // If `given` is set, the rows are those, and no files are read; options.data then tells only
  // where they came from, if they came from files. REQUIRES: they have the inputs of the model, in
  // their order; in a job they are the share of this trainer.
  RowTask(TrainOptions options, MakeRowModel make, std::optional<GivenRows> given = std::nullopt)
      : options_(std::move(options)), make_(std::move(make)), given_(std::move(given)) {}

  Status Prepare(Terminal& terminal, const Interrupt* interrupt) override;
  const Model& model() const override { return model_; }
  int64_t epochs() const override { return options_.epochs; }
  // With the epochs and the batch size that were chosen. REQUIRES: Prepare has succeeded.
  const TrainOptions& options() const { return options_; }
  // The format of the rows; without a name: unknown, as that of a program's own rows may be.
  ParserSpec format() const;
  // What the rows are, if the model took its inputs from them.
  StatusOr<std::vector<std::string>> ArgsForJob(const std::string& log_dir) const override;
  // The rows of this run must have the format that the loaded model was trained on.
  Status CheckStart(const Sections& sections) const override;
  Status Start(const TaskRun* run) override;
  StatusOr<std::map<std::string, std::string>> Settings() override;
  std::string test_data() const override;
  Status OpenData() override { return OpenFiles(nullptr); }
  Status OpenRest(const EpochShares& shares) override { return OpenFiles(&shares); }
  EpochShares shares() const override;
  int64_t epoch_rows() const override { return train_.rows; }
  double load_seconds() const override { return train_.load_seconds; }
  int64_t memory_bytes() const override { return train_.memory_bytes + test_.memory_bytes; }
  bool in_memory() const override { return options_.data.in_memory; }

  StatusOr<Report> TrainEpoch(int64_t epoch, const std::optional<DatasetPosition>& position,
                              const Report& before) override;
  DatasetPosition position() const override { return train_.dataset->position(); }
  Report so_far() const override { return trainer_->SoFar(); }
  DatasetCounts counts() const override { return train_.dataset->counts(); }
  void AddMetrics(Progress* progress) const override { trainer_->AddMetrics(progress); }
  bool has_test() const override {
    return given_ ? static_cast<bool>(given_->test) : !options_.data.test.empty();
  }
  StatusOr<Report> Test() override;
  // The predictions of the last Test, (rows, columns), in the order of the rows; only of given
  // rows, by a model that has a prediction (Model::predict).
  const std::vector<float>& test_predictions() const { return test_predictions_; }
  // Of the labels of a regression over the training rows; 0 if it is not known.
  double deviation() const {
    return rows_ && !rows_->features.labels.empty() ? rows_->features.labels[0].deviation : 0;
  }
  StatusOr<Sections> sections() const override;

 private:
  bool from_files() const { return !given_ || !options_.data.train.empty(); }
  Status CheckOptions() const;
  Status OpenGiven();
  // Opens training rows, of `rest` if it is not null, and test rows that are not open yet.
  Status OpenFiles(const EpochShares* rest);
  // How the trainers divide these files. Collective in a job.
  StatusOr<EpochShares> Divide(const OpenDataOptions& what, const std::vector<std::string>& files);
  // The same for training files that all trainers have, if these are to take shares of them.
  void DealIfUseful(const std::vector<std::string>& files, EpochShares* shares) const;
  // An error if shares of this count cannot be dealt to the trainers of this run. Collective in a
  // job.
  Status CheckCanDivide(const EpochShares& rest);
  // The files of one share; all if they are not divided.
  StatusOr<std::vector<FileSlice>> FilesOf(const EpochShares& shares, int share,
                                           const std::vector<std::string>& files) const;
  // The rows of the only share of this trainer, or none.
  StatusOr<OpenedData> OpenShares(OpenDataOptions what, const EpochShares& shares,
                                  const std::vector<std::string>& files,
                                  std::shared_ptr<const Parser> parser);
  // The training rows if they are in several shares, or taken. REQUIRES: shares_ is set.
  StatusOr<OpenedData> OpenChain(OpenDataOptions what, std::shared_ptr<const Parser> parser);
  StatusOr<OpenedData> Open(OpenDataOptions what, std::shared_ptr<const Parser> parser);
  // The next share of the epoch for this trainer.
  StatusOr<std::optional<int>> TakeShare(int64_t epoch);
  // The numbers of the shares that are this trainer's first, in the order of this epoch.
  std::vector<int> FirstShares(int64_t epoch) const;

  TrainOptions options_;
  const MakeRowModel make_;
  const std::optional<GivenRows> given_;
  Model model_;
  std::optional<DescribedRows> rows_;
  const TaskRun* run_ = nullptr;
  std::vector<std::string> train_files_, test_files_;
  EpochShares shares_;               // of the training files
  bool of_rest_ = false;             // they were opened to finish an epoch
  ChainedDataset* chain_ = nullptr;  // train_.dataset, if it is one
  // The first shares of this trainer, if rows are in memory.
  std::map<int, std::shared_ptr<Dataset>> kept_;
  OpenedData train_, test_;
  std::vector<float> test_predictions_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace flotilla
