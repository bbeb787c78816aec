#include "flotilla/run/group_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <functional>
#include <thread>

#include "flotilla/communicator/local_communicator.h"
#include "flotilla/metric/auc.h"
#include "flotilla/metric/metric_set.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/run/run_state.h"
#include "flotilla/trainer/bad_batch_testing.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

// Trainers that are threads of one process.
class ThreadGroup : public Group {
 public:
  struct Shared {
    explicit Shared(int trainers) : blobs(trainers), barrier(trainers) {}
    std::vector<std::vector<std::string>> blobs;  // by sender, then by receiver
    std::barrier<> barrier;
  };
  ThreadGroup(int trainer, Shared* shared) : trainer_(trainer), shared_(shared) {}

  int trainer() const override { return trainer_; }
  int trainers() const override { return static_cast<int>(shared_->blobs.size()); }
  Status Barrier(std::string_view /*name*/) override { return absl::OkStatus(); }
  Status Sum(std::string_view name, std::span<double> values) override {
    const std::string own(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    const auto all = Gather(name, own);
    std::ranges::fill(values, 0);
    for (const std::string& blob : *all) {
      for (size_t i = 0; i < values.size(); ++i) {
        double value;
        std::memcpy(&value, blob.data() + i * sizeof(value), sizeof(value));
        values[i] += value;
      }
    }
    return absl::OkStatus();
  }
  StatusOr<std::vector<std::string>> Gather(std::string_view name, std::string_view blob) override {
    return Exchange(name, std::vector<std::string>(trainers(), std::string(blob)));
  }
  StatusOr<std::string> Broadcast(std::string_view name, std::string_view blob, int root) override {
    return (*Gather(name, blob))[root];
  }
  StatusOr<std::vector<std::string>> Exchange(std::string_view /*name*/,
                                              std::vector<std::string> outgoing) override {
    shared_->blobs[trainer_] = std::move(outgoing);
    shared_->barrier.arrive_and_wait();
    std::vector<std::string> taken;
    for (const auto& given : shared_->blobs) taken.push_back(given[trainer_]);
    shared_->barrier.arrive_and_wait();
    return taken;
  }
  Status DealShares(std::string_view, int, std::span<const int>) override {
    return absl::OkStatus();
  }
  StatusOr<std::optional<int>> TakeShare(std::span<const int>, bool) override {
    return std::nullopt;
  }

 private:
  const int trainer_;
  Shared* const shared_;
};

// Runs it in `trainers` threads, each with its member of a group.
void InGroup(int trainers, const std::function<void(Group&)>& trainer) {
  ThreadGroup::Shared shared(trainers);
  std::vector<std::jthread> threads;
  for (int t = 0; t < trainers; ++t) {
    threads.emplace_back([&, t] {
      ThreadGroup group(t, &shared);
      trainer(group);
    });
  }
}

TEST(SumSummariesTest, RowsAndTimesAddUpAndSecondsAreThoseOfTheSlowest) {
  const auto summary_of = [](int64_t factor) {
    RunSummary summary{.workers = 2, .epochs = 3};
    summary.read = 10 * factor;
    summary.trained = 8 * factor;
    summary.skipped = factor;
    summary.dropped = factor;
    summary.bad_batches = factor;
    summary.bad_batch_rows = 100 * factor;
    summary.load_seconds = 5 - static_cast<double>(factor);
    summary.train_seconds = static_cast<double>(factor);
    summary.times = {.read = factor, .pull = factor, .compute = 7 * factor, .push = 1, .wait = 0};
    return summary;
  };
  RunSummary summaries[] = {summary_of(1), summary_of(3)};
  InGroup(2, [&](Group& group) {
    EXPECT_TRUE(SumSummaries("summary", group, &summaries[group.trainer()]).ok());
  });
  const RunSummary& first = summaries[0];
  EXPECT_EQ(first.trainers, 2);
  EXPECT_EQ(first.workers, 4);
  EXPECT_EQ(first.epochs, 3);
  EXPECT_EQ(first.read, 40);
  EXPECT_EQ(first.trained, 32);
  EXPECT_EQ(first.skipped, 4);
  EXPECT_EQ(first.dropped, 4);
  EXPECT_EQ(first.bad_batches, 4);
  EXPECT_EQ(first.bad_batch_rows, 400);
  EXPECT_EQ(first.load_seconds, 4);
  EXPECT_EQ(first.train_seconds, 3);
  EXPECT_EQ(first.times.compute, 28);
  EXPECT_EQ(first.times.push, 2);
}

TEST(SumSummariesTest, OneTrainerIsAllThereIs) {
  const std::unique_ptr<Group> solo = MakeSoloGroup();
  RunSummary summary{.workers = 2, .trained = 7};
  ASSERT_TRUE(SumSummaries("summary", *solo, &summary).ok());
  EXPECT_EQ(summary.trainers, 1);
  EXPECT_EQ(summary.trained, 7);
}

// What a trainer that saw these scores and clicks reports.
Report ReportOf(std::span<const MetricSpec> specs, const std::vector<float>& scores,
                const std::vector<float>& clicks) {
  MetricSet metrics = *MetricSet::Make(specs);
  const auto rows = static_cast<int64_t>(scores.size());
  if (rows > 0) {
    metrics.Add(rows, std::vector<FetchedValue>{{.values = scores}, {.values = clicks}});
  }
  Report report{.rows = rows, .trained = rows, .batches = rows > 0, .step = rows};
  report.loss = 0.5;
  report.seconds = static_cast<double>(rows);
  report.metric_state = metrics.State();
  report.metrics = metrics.Values();
  return report;
}

TEST(SumReportsTest, MetricsAreThoseOfAllRowsInEveryTrainer) {
  const MetricSpec specs[] = {AucSpec(0, 1)};
  const std::vector<float> scores = {0.1f, 0.4f, 0.35f, 0.8f, 0.2f}, clicks = {0, 0, 1, 1, 1};
  const Report whole = ReportOf(specs, scores, clicks);
  // The third has no rows; each of the others has its own AUC.
  std::vector<Report> reports = {ReportOf(specs, {0.1f, 0.4f, 0.35f}, {0, 0, 1}),
                                 ReportOf(specs, {0.8f, 0.2f}, {1, 1}), ReportOf(specs, {}, {})};
  InGroup(3, [&](Group& group) {
    EXPECT_TRUE(SumReports("epoch 0", specs, group, &reports[group.trainer()]).ok());
  });
  for (const Report& report : reports) {
    EXPECT_EQ(report.rows, 5);
    EXPECT_EQ(report.batches, 2);
    EXPECT_EQ(report.step, 3);
    EXPECT_EQ(report.seconds, 3);
    EXPECT_EQ(report.loss, 0.5);
    EXPECT_EQ(report.metrics, whole.metrics);
    EXPECT_EQ(report.metric_state, whole.metric_state);
  }
}

TEST(SumReportsTest, TheLossIsPerUnitOfWeightOfAllTrainers) {
  std::vector<Report> reports(2);
  reports[0] = {
      .rows = 10, .trained = 10, .bad_batches = 1, .bad_batch_rows = 5, .loss = 2, .weight = 30};
  reports[1] = {
      .rows = 10, .trained = 10, .bad_batches = 2, .bad_batch_rows = 9, .loss = 6, .weight = 10};
  InGroup(2, [&](Group& group) {
    EXPECT_TRUE(SumReports("epoch 0", {}, group, &reports[group.trainer()]).ok());
  });
  for (const Report& report : reports) {
    EXPECT_EQ(report.loss, 3);
    EXPECT_EQ(report.weight, 40);
    EXPECT_EQ(report.bad_batches, 3);
    EXPECT_EQ(report.bad_batch_rows, 14);
  }
}

TEST(SumReportsTest, EveryTrainerKnowsTheFirstBadBatches) {
  std::vector<Report> reports(3);
  reports[1] = {.bad_batches = 2, .bad_batch_texts = {"b", "c"}};
  reports[2] = {.bad_batches = 9, .bad_batch_texts = {"d", "e", "f", "g", "h"}};
  InGroup(3, [&](Group& group) {
    EXPECT_TRUE(SumReports("epoch 0", {}, group, &reports[group.trainer()]).ok());
  });
  const std::vector<std::string> first = {"b", "c", "d", "e", "f"};
  for (const Report& report : reports) EXPECT_EQ(report.bad_batch_texts, first);
}

TEST(SumSummariesTest, EveryTrainerKnowsTheFirstBadBatches) {
  std::vector<RunSummary> summaries(2);
  summaries[1].bad_batches = 1;
  summaries[1].bad_batch_texts = {"loss is inf"};
  InGroup(2, [&](Group& group) {
    EXPECT_TRUE(SumSummaries("summary", group, &summaries[group.trainer()]).ok());
  });
  for (const RunSummary& summary : summaries) {
    EXPECT_EQ(summary.bad_batch_texts, std::vector<std::string>{"loss is inf"});
  }
}

// Of two trainers that may leave out ten batches each.
TEST(MergeReportsTest, TheLimitOfBadBatchesGoesOnFromTheTrainerWithMost) {
  const SteadyClock clock;
  const Model model = PlantedModel(Sgd(0.1));
  const auto dataset = PlantedRows(0, 1, 20, 25, {{2, Plant::kLoss}, {15, Plant::kLoss}});
  auto local = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = true});
  TrainerOptions options{.progress_batches = 10, .max_bad_batches = 10};
  bool stop = false;
  options.on_progress = [&](const Progress&) { stop = true; };
  options.stop = [&] { return stop; };
  auto trainer = *Trainer::Make(&model, local.get(), &clock, options);
  const Report one = *trainer->TrainEpoch(*dataset, 0);
  ASSERT_EQ(one.bad_batches, 1);
  std::vector<RunState> states(2);
  for (RunState& state : states) {
    state.position = dataset->position();
    state.so_far = one;
    state.so_far.bad_batches = state.so_far.limited_bad_batches = 9;
    state = *RunState::FromText(state.ToText());
  }
  const StatusOr<Report> merged =
      MergeReports(MetricsOf(model), std::vector<Report>{states[0].so_far, states[1].so_far});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->bad_batches, 18);
  options.stop = nullptr;
  trainer = *Trainer::Make(&model, local.get(), &clock, options);
  const StatusOr<Report> rest = trainer->ResumeEpoch(*dataset, *states[0].position, *merged);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->bad_batches, 19);
  // One more is too many for the trainer with most.
  options.max_bad_batches = 9;
  trainer = *Trainer::Make(&model, local.get(), &clock, options);
  EXPECT_FALSE(trainer->ResumeEpoch(*dataset, *states[0].position, *merged).ok());
}

TEST(MergeReportsTest, RowsAndBadBatchesAddUpAndTheLossIsPerUnitOfWeight) {
  const std::vector<Report> parts = {
      {.rows = 15, .trained = 10, .bad_batches = 1, .bad_batch_rows = 5, .loss = 2, .weight = 30},
      {.rows = 19, .trained = 10, .bad_batches = 2, .bad_batch_rows = 9, .loss = 6, .weight = 10}};
  const StatusOr<Report> all = MergeReports({}, parts);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->rows, 34);
  EXPECT_EQ(all->bad_batches, 3);
  EXPECT_EQ(all->bad_batch_rows, 14);
  EXPECT_EQ(all->loss, 3);
}

}  // namespace
}  // namespace flotilla
