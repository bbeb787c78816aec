// The summary of a run: rows read, trained and skipped, how the workers spent their time, and one
// sentence of advice on how to make it faster. The run adds its epochs to a RunSummary; the caller
// prints the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/dataset/dataset.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

struct RunSummary {
  int workers = 1;   // of all trainers
  int trainers = 1;  // covered by these figures
  int64_t epochs = 0;
  // Whether rows were parsed once and kept, or read again in every epoch; not set: unknown.
  std::optional<bool> in_memory;

  // Over all epochs. Read is the sum of the other four.
  int64_t read = 0;
  int64_t trained = 0;
  int64_t skipped = 0;
  int64_t dropped = 0;
  int64_t bad_batch_rows = 0;
  int64_t bad_batches = 0;
  std::vector<std::string> bad_batch_texts;  // of the first few (Report)
  std::vector<std::string> samples;          // the first bad rows, each with its position and error

  // Those of the slowest trainer.
  double load_seconds = 0;   // reading into memory before the first epoch
  double train_seconds = 0;  // of all epochs
  double test_seconds = 0;
  double save_seconds = 0;
  StageTimes times;  // of training, summed over workers

  // Adds an epoch: its report and the counts of its dataset.
  void AddEpoch(const Report& report, const DatasetCounts& counts);

  // Rows trained per second of loading and training; 0 if that took no time.
  double examples_per_second() const;
};

// How workers spent their time, as shares of their training time; the shares add up to 1, or to 0
// if no time was measured.
struct StageShares {
  double read = 0;
  double pull = 0;
  double compute = 0;
  double push = 0;
  double wait = 0;
  double other = 0;  // not in any stage: metrics, reports, no rows left to train on
};
StageShares SharesOf(const RunSummary& summary);

// The texts of the remedies; a program puts its own flags here. Empty remedies are not advised.
struct AdviceWords {
  std::string faster_input = "more readers or a cache of parsed rows";
  std::string rows_in_memory = "rows in memory";
  std::string larger_batches = "larger batches";
  std::string free_workers = "workers that need not wait for each other";
  std::string more_workers = "more workers on more cores";
  std::string even_shares = "rows spread evenly over the trainers";
};

// One sentence, without a full stop, that names the stage that took most of the workers' time and a
// remedy; empty for a run that is too short (under a second of worker time). If that stage is
// computing, a wait that took a considerable part of the time is named too. Keeping rows in memory
// is advised only for runs that read them again in several epochs and waited for them.
std::string Advice(const RunSummary& summary, const AdviceWords& words = {});

// Several lines, each with a newline; the advice, if any, is the last.
std::string SummaryText(const RunSummary& summary, const AdviceWords& words = {});

}  // namespace flotilla
