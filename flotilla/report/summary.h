// The end of a run in figures and words: what became of the rows, where the workers' time went, and
// one sentence on what to change to be faster. A value that the run adds its epochs to; whoever
// runs it prints the text.
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
  int trainers = 1;  // that the figures are of
  int64_t epochs = 0;
  // Whether rows were parsed once and kept, or read again in every epoch; not set: not known.
  std::optional<bool> in_memory;

  // Over all epochs. Read is the sum of the other three.
  int64_t read = 0;
  int64_t trained = 0;
  int64_t skipped = 0;
  int64_t dropped = 0;
  std::vector<std::string> samples;  // the first bad rows, each with its place and what is wrong

  // Of the slowest trainer.
  double load_seconds = 0;   // reading into memory before the first epoch
  double train_seconds = 0;  // of all epochs
  double test_seconds = 0;
  double save_seconds = 0;
  StageTimes times;  // of training, summed over workers

  // Counts an epoch: its report and what its dataset counted.
  void AddEpoch(const Report& report, const DatasetCounts& counts);

  // Rows trained per second of loading and training; 0 when that took no time.
  double examples_per_second() const;
};

// Where a worker's time went, as shares of the workers' training time; they add up to 1, or to 0
// when no time was measured.
struct StageShares {
  double read = 0;
  double pull = 0;
  double compute = 0;
  double push = 0;
  double wait = 0;
  double other = 0;  // not in any stage: metrics, reports, no rows left to train on
};
StageShares SharesOf(const RunSummary& summary);

// How a user brings a remedy about; a program puts its own flags here. What is empty is not
// advised.
struct AdviceWords {
  std::string faster_input = "more readers or a cache of parsed rows";
  std::string rows_in_memory = "rows in memory";
  std::string larger_batches = "larger batches";
  std::string free_workers = "workers that need not wait for each other";
  std::string more_workers = "more workers on more cores";
  std::string even_shares = "rows spread evenly over the trainers";
};

// One sentence, without its full stop, on what most of the workers' time went into and what to do
// about it; empty for a run too short to tell (under a second of the workers' time). Where that is
// computing, a wait that took a good part of the time is named too. Rows in memory are advised only
// to runs that read them again in several epochs and waited for them.
std::string Advice(const RunSummary& summary, const AdviceWords& words = {});

// Several lines, each with its end; the advice, if any, is the last.
std::string SummaryText(const RunSummary& summary, const AdviceWords& words = {});

}  // namespace flotilla
