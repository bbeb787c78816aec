#include "flotilla/report/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "flotilla/base/human.h"

namespace flotilla {
namespace {

constexpr size_t kMaxSamples = 5;
constexpr double kShortestRun = 1;     // seconds of worker time
constexpr double kManySkipped = 0.05;  // fraction of the rows read from which on it is reported
// The share from which on a wait is reported although most of the time was spent computing.
constexpr double kLongRead = 0.2;
constexpr double kLongWait = 0.25;

double Seconds(int64_t nanos) { return static_cast<double>(nanos) * 1e-9; }

double StageSeconds(const StageTimes& times) {
  return Seconds(times.read + times.pull + times.compute + times.push + times.wait);
}

// The total worker time. If the stages add up to more than the run took (clocks differ by a few
// microseconds), their sum counts.
double WorkerSeconds(const RunSummary& summary) {
  return std::max(summary.workers * summary.train_seconds, StageSeconds(summary.times));
}

double SkippedShare(const RunSummary& summary) {
  if (summary.read == 0) return 0;
  return static_cast<double>(summary.skipped) / static_cast<double>(summary.read);
}

// 1234567 -> "1,234,567"
std::string Grouped(int64_t count) {
  std::string digits = fmt::to_string(count);
  for (auto place = static_cast<int64_t>(digits.size()) - 3; place > 0; place -= 3) {
    digits.insert(static_cast<size_t>(place), ",");
  }
  return digits;
}

std::string RowsText(const RunSummary& summary) {
  std::string text =
      fmt::format("rows           read {}, trained {}, skipped {}", Grouped(summary.read),
                  Grouped(summary.trained), Grouped(summary.skipped));
  if (summary.dropped > 0) text += fmt::format(", dropped {}", Grouped(summary.dropped));
  if (summary.bad_batch_rows > 0) {
    text += fmt::format(", in bad batches {}", Grouped(summary.bad_batch_rows));
  }
  text += summary.epochs == 1 ? "\n" : fmt::format(" in {} epochs\n", summary.epochs);
  for (size_t i = 0; i < summary.samples.size(); ++i) {
    text += fmt::format("{:<15}{}\n", i == 0 ? "  first bad" : "", summary.samples[i]);
  }
  if (summary.bad_batches == 0) return text;
  text += fmt::format("bad batches    {} left out: loss or gradients are not finite\n",
                      Grouped(summary.bad_batches));
  for (size_t i = 0; i < summary.bad_batch_texts.size(); ++i) {
    text += fmt::format("{:<15}{}\n", i == 0 ? "  the first" : "", summary.bad_batch_texts[i]);
  }
  return text;
}

std::string TimeText(const RunSummary& summary) {
  std::string parts;
  double total = 0;
  for (const auto& [name, seconds] :
       {std::pair("load", summary.load_seconds), std::pair("train", summary.train_seconds),
        std::pair("test", summary.test_seconds), std::pair("save", summary.save_seconds)}) {
    total += seconds;
    if (seconds > 0) {
      parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", name, HumanSeconds(seconds));
    }
  }
  return fmt::format("time           {}{}\nspeed          {} examples/s\n", HumanSeconds(total),
                     parts, HumanCount(summary.examples_per_second()));
}

std::string StagesText(const RunSummary& summary) {
  const StageShares shares = SharesOf(summary);
  const double total = WorkerSeconds(summary);
  if (total <= 0) return "";
  std::string text =
      fmt::format("worker time    {} of {} {}{}\n", HumanSeconds(total), summary.workers,
                  summary.workers == 1 ? "worker" : "workers",
                  summary.trainers == 1 ? "" : fmt::format(" in {} trainers", summary.trainers));
  constexpr double kBarColumns = 30;
  for (const auto& [name, share] :
       {std::pair("read", shares.read), std::pair("pull", shares.pull),
        std::pair("compute", shares.compute), std::pair("push", shares.push),
        std::pair("wait", shares.wait), std::pair("other", shares.other)}) {
    std::string line = fmt::format(
        "  {:<8}{:>8.2f} s  {:>5}  {}", name, share * total, HumanShare(share),
        std::string(static_cast<size_t>(std::lround(kBarColumns * std::min(share, 1.0))), '#'));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// "; try a, b or c"; empty if all remedies are empty.
std::string Try(std::vector<std::string> remedies) {
  std::erase(remedies, "");
  if (remedies.empty()) return "";
  const std::string last = std::move(remedies.back());
  remedies.pop_back();
  if (remedies.empty()) return "; try " + last;
  return fmt::format("; try {} or {}", fmt::join(remedies, ", "), last);
}

// Rows in memory are copied as fast as memory allows. Keeping them there pays only if they are read
// more than once.
std::vector<std::string> InputRemedies(const RunSummary& summary, const AdviceWords& words) {
  if (summary.in_memory.value_or(false)) return {words.larger_batches};
  const bool read_again = summary.in_memory.has_value() && summary.epochs > 1;
  return {words.faster_input, read_again ? words.rows_in_memory : ""};
}

std::string ComputeAdvice(const RunSummary& summary, const StageShares& shares,
                          const AdviceWords& words) {
  const std::string computed = HumanShare(shares.compute);
  if (shares.read >= kLongRead && shares.read >= shares.wait) {
    return fmt::format("compute-bound: workers computed {} of their time and waited {} for rows{}",
                       computed, HumanShare(shares.read), Try(InputRemedies(summary, words)));
  }
  if (shares.wait >= kLongWait) {
    return fmt::format(
        "compute-bound: workers computed {} of their time and waited {} for each other{}", computed,
        HumanShare(shares.wait), Try({words.larger_batches, words.free_workers}));
  }
  return fmt::format("compute-bound: workers computed {} of their time; {} make it faster",
                     computed, words.more_workers);
}

}  // namespace

void RunSummary::AddEpoch(const Report& report, const DatasetCounts& counts) {
  ++epochs;
  trained += report.rows;
  skipped += counts.skipped;
  dropped += counts.dropped;
  bad_batches += report.bad_batches;
  bad_batch_rows += report.bad_batch_rows;
  read += report.rows + counts.skipped + counts.dropped + report.bad_batch_rows;
  for (const std::string& text : report.bad_batch_texts) {
    if (bad_batch_texts.size() < kMaxSamples) bad_batch_texts.push_back(text);
  }
  // Every epoch has the same bad rows: samples of the first one are enough.
  if (samples.empty()) {
    samples.assign(counts.samples.begin(),
                   counts.samples.begin() +
                       static_cast<std::ptrdiff_t>(std::min(counts.samples.size(), kMaxSamples)));
  }
  train_seconds += report.seconds;
  times.Add(report.times);
}

double RunSummary::examples_per_second() const {
  const double seconds = load_seconds + train_seconds;
  return seconds > 0 ? static_cast<double>(trained) / seconds : 0;
}

StageShares SharesOf(const RunSummary& summary) {
  const double total = WorkerSeconds(summary);
  if (total <= 0) return {};
  const StageTimes& times = summary.times;
  return {.read = Seconds(times.read) / total,
          .pull = Seconds(times.pull) / total,
          .compute = Seconds(times.compute) / total,
          .push = Seconds(times.push) / total,
          .wait = Seconds(times.wait) / total,
          .other = (total - StageSeconds(times)) / total};
}

std::string Advice(const RunSummary& summary, const AdviceWords& words) {
  if (const double skipped = SkippedShare(summary); skipped >= kManySkipped) {
    return fmt::format(
        "bad data: {} of the rows were skipped; look at the first ones and check the format",
        HumanShare(skipped));
  }
  if (WorkerSeconds(summary) < kShortestRun) return "";
  const StageShares shares = SharesOf(summary);
  const double table = shares.pull + shares.push;
  const double most = std::max({shares.read, shares.wait, table, shares.compute, shares.other});
  if (shares.compute == most) return ComputeAdvice(summary, shares, words);
  if (shares.read == most) {
    return fmt::format("input-bound: workers waited {} of their time for rows{}",
                       HumanShare(shares.read), Try(InputRemedies(summary, words)));
  }
  if (shares.wait == most) {
    return fmt::format("waiting: workers waited {} of their time for each other{}",
                       HumanShare(shares.wait), Try({words.larger_batches, words.free_workers}));
  }
  if (table == most) {
    return fmt::format(
        "parameter-bound: {} of the workers' time went into pulling and pushing rows; try {}: more "
        "rows of a batch then share their ids",
        HumanShare(table), words.larger_batches);
  }
  return fmt::format(
      "idle: workers spent {} of their time outside these stages: without rows to train on, or in "
      "metrics and progress{}",
      HumanShare(shares.other),
      Try({words.larger_batches, summary.trainers > 1 ? words.even_shares : ""}));
}

std::string SummaryText(const RunSummary& summary, const AdviceWords& words) {
  const std::string advice = Advice(summary, words);
  return RowsText(summary) + TimeText(summary) + StagesText(summary) +
         (advice.empty() ? "" : advice + "\n");
}

}  // namespace flotilla
