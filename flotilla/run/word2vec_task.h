// Trains word vectors on text: dictionary, ids, skip-gram or CBOW (trainer/skipgram_trainer.h), the
// files of the vectors, their scores.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/infer/word_scores.h"
#include "flotilla/run/task.h"
#include "flotilla/run/word2vec_data.h"
#include "flotilla/run/word2vec_host.h"
#include "flotilla/run/word2vec_options.h"
#include "flotilla/trainer/skipgram_trainer.h"

namespace flotilla {

class Word2VecTask : public Task {
 public:
  // The figures of a run besides those of RunResult.
  struct Results {
    size_t vocabulary = 0;
    double dictionary_seconds = 0;  // counting and reading the dictionary
    double save_seconds = 0;        // writing --vectors and --save_dict
    WordScores scores;
  };

  // With `host` the run takes its words, text and vectors from a program; it is not part of a job.
  // REQUIRES: options and host outlive the task.
  explicit Word2VecTask(const Word2VecRunOptions* options, const Word2VecHost* host = nullptr)
      : options_(*options), host_(host) {}

  // Results of all calls so far.
  const Results& results() const { return results_; }

  // Reads the dictionary.
  Status Prepare(Terminal& terminal, const Interrupt* interrupt) override;
  // Servers apply the pushed updates as they are: trainers multiply them by the learning rate,
  // because only they know how long the text is.
  const Model& model() const override { return *model_; }
  // Adds a hash of the words, since all processes must use the same ids, and how GEO exchanges rows
  // of words.
  void SetJob(JobOptions* job) const override;
  // The dictionary, counted once for all processes.
  StatusOr<std::vector<std::string>> ArgsForJob(const std::string& log_dir) const override;
  // The model must have the words of this run.
  Status CheckStart(const Sections& sections) const override;
  Status Start(const TaskRun* run) override;
  StatusOr<std::map<std::string, std::string>> Settings() override;
  Status OpenData() override;
  int64_t epoch_rows() const override { return data_->corpus().words(); }
  double load_seconds() const override { return load_seconds_; }
  bool in_memory() const override { return data_->in_memory(); }
  std::string_view unit() const override { return "words"; }

  StatusOr<Report> TrainEpoch(int64_t epoch, const std::optional<DatasetPosition>& position,
                              const Report& before) override;
  DatasetPosition position() const override;
  Report so_far() const override { return trainer_->SoFar(); }
  DatasetCounts counts() const override;
  StatusOr<Sections> sections() const override;
  bool has_results() const override { return host_ != nullptr || !options_.vectors.empty(); }
  // A stopped run without --out writes its unfinished vectors; with --out it can be resumed and
  // leaves an existing file unchanged.
  Status Finish(bool stopped) override;

 private:
  Status WriteRows();
  // The vectors of the host, to the tables and back.
  Status WriteHostRows();
  Status ReadHostRows();
  Status MakeTrainer();
  // Steps that the schedule will count in an epoch.
  StatusOr<int64_t> StepsPerEpoch();
  ScheduleSpec ScheduleFor(int64_t steps) const;
  StatusOr<WordVectors> Vectors();
  double Seconds() const;

  const Word2VecRunOptions& options_;
  const Word2VecHost* const host_;
  Terminal* terminal_ = nullptr;
  std::unique_ptr<Word2VecData> data_;
  std::optional<Model> model_;
  const TaskRun* run_ = nullptr;
  int64_t epoch_ = 0;  // the current epoch
  double load_seconds_ = 0;
  std::unique_ptr<WindowSampler> sampler_;
  std::unique_ptr<SkipgramTrainer> trainer_;
  Results results_;
};

}  // namespace flotilla
