// Batches that a program feeds by itself, over servers, in every mode: nothing is lost, however the
// passes end.
#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <functional>
#include <map>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/fleet/counter_model_testing.h"
#include "flotilla/fleet/fleet_testing.h"
#include "flotilla/trainer/bad_batch.h"

namespace flotilla {
namespace {

// The work between init_worker and stop_worker.
using Work = std::function<Status(Fleet& fleet, Executor& executor)>;

Status RunFed(const std::string& strategy, const Work& work) {
  return RunThreadJob(2, 2, [&](Fleet& fleet) -> Status {
    Model model = MakeCounter();
    FL_ASSIGN_OR_RETURN(const Strategy parsed, Strategy::FromText(strategy));
    FL_RETURN_IF_ERROR(fleet.distributed_optimizer(model, parsed));
    if (fleet.is_server()) {
      FL_RETURN_IF_ERROR(fleet.init_server());
      return fleet.run_server();
    }
    FL_RETURN_IF_ERROR(fleet.init_worker());
    auto executor = Executor::Make(std::move(model), &fleet.communicator(), {});
    if (!executor.ok()) return fleet.stop_worker(executor.status());
    return fleet.stop_worker(work(fleet, **executor));
  });
}

Status FeedSteps(Executor& executor, int steps) {
  const Batch batch = CountOne(executor.model());
  for (int step = 0; step < steps; ++step) {
    FL_RETURN_IF_ERROR(executor.run(batch, {}).status());
  }
  return absl::OkStatus();
}

// The servers' counter once every other worker has ended its pass or stopped.
StatusOr<float> FinalCount(Fleet& fleet, Executor& executor) {
  FL_RETURN_IF_ERROR(executor.end_pass());
  FL_RETURN_IF_ERROR(fleet.barrier());
  FL_ASSIGN_OR_RETURN(const Tensor counter, executor.parameter(kCounter));
  return counter.data[0];
}

// Two workers that feed the given numbers of batches.
struct FedCase {
  std::string strategy;
  int steps[2];
  float expected;
};

std::string NameOf(const FedCase& fed) {
  std::string name = fmt::format("{}_{}_{}", fed.strategy, fed.steps[0], fed.steps[1]);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

class FedStepsTest : public ::testing::TestWithParam<FedCase> {
 protected:
  // `other` is how worker 1 ends its passes.
  float Count(const Work& other) {
    std::atomic<float> count = -1;
    const Status status = RunFed(GetParam().strategy, [&](Fleet& fleet, Executor& executor) {
      const Status fed = FeedSteps(executor, GetParam().steps[fleet.worker_index()]);
      if (!fed.ok() || !fleet.is_first_worker()) return fed.ok() ? other(fleet, executor) : fed;
      const StatusOr<float> found = FinalCount(fleet, executor);
      if (found.ok()) count = *found;
      return found.status();
    });
    EXPECT_TRUE(status.ok()) << status;
    return count;
  }
};

TEST_P(FedStepsTest, EndPassAppliesEveryBatch) {
  EXPECT_EQ(Count([](Fleet& fleet, Executor& executor) -> Status {
              FL_RETURN_IF_ERROR(executor.end_pass());
              return fleet.barrier();
            }),
            GetParam().expected);
}

// A worker that has fed nothing has no pass to end: it only stops.
TEST_P(FedStepsTest, StopWorkerAppliesWhatAnOpenPassHas) {
  EXPECT_EQ(Count([](Fleet&, Executor&) { return absl::OkStatus(); }), GetParam().expected);
}

// The caller decides whether to go on; the others do not wait for a step that was not made.
TEST_P(FedStepsTest, AStepWithABadGradientIsAnErrorAndChangesNothing) {
  const auto feed_bad = [](Executor& executor) {
    Batch bad = CountOne(executor.model());
    bad.fields[0].values[0] = -1e20f;
    const Status status = executor.run(bad, {}).status();
    EXPECT_TRUE(IsBadBatch(status)) << status;
    EXPECT_NE(Message(status).find("the gradient of parameter count.w_0"), std::string_view::npos);
  };
  std::atomic<float> count = -1;
  const Status status =
      RunFed(GetParam().strategy, [&](Fleet& fleet, Executor& executor) -> Status {
        const int steps = GetParam().steps[fleet.worker_index()];
        FL_RETURN_IF_ERROR(FeedSteps(executor, steps / 2));
        feed_bad(executor);
        FL_RETURN_IF_ERROR(FeedSteps(executor, steps - steps / 2));
        if (!fleet.is_first_worker()) {
          FL_RETURN_IF_ERROR(executor.end_pass());
          return fleet.barrier();
        }
        FL_ASSIGN_OR_RETURN(count, FinalCount(fleet, executor));
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  // A worker whose pass has only bad batches counts as one with data in the divisor of GEO.
  const bool only_bad = GetParam().steps[1] == 0 && GetParam().strategy == "mode=geo";
  EXPECT_EQ(count, only_bad ? GetParam().expected / 2 : GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, FedStepsTest,
    ::testing::Values(FedCase{"mode=async", {100, 100}, 200}, FedCase{"mode=async", {100, 60}, 160},
                      FedCase{"mode=half-async", {100, 100}, 200},
                      FedCase{"mode=half-async", {60, 100}, 160},
                      FedCase{"mode=sync", {100, 100}, 100}, FedCase{"mode=sync", {60, 100}, 100},
                      FedCase{"mode=sync", {100, 0}, 100}, FedCase{"mode=geo", {100, 100}, 100},
                      FedCase{"mode=geo", {100, 60}, 80}, FedCase{"mode=geo", {100, 0}, 100},
                      FedCase{"geo_sgd_mode=true,geo_sgd_need_push_nums=400", {100, 100}, 100},
                      FedCase{"geo_sgd_mode=true,geo_sgd_need_push_nums=400", {60, 100}, 80}),
    [](const auto& each) { return NameOf(each.param); });

TEST(FedPassesTest, PassesFollowEachOtherAndEpochsOfDatasets) {
  for (const char* mode : {"sync", "half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    std::atomic<float> count = -1;
    const Status status =
        RunFed(fmt::format("mode={}", mode), [&](Fleet& fleet, Executor& executor) -> Status {
          FL_RETURN_IF_ERROR(FeedSteps(executor, 5));
          FL_RETURN_IF_ERROR(executor.end_pass());
          EXPECT_EQ(executor.epoch(), 1);
          // The second worker has no batch in this pass; its call says so.
          FL_RETURN_IF_ERROR(FeedSteps(executor, fleet.is_first_worker() ? 2 : 0));
          FL_RETURN_IF_ERROR(executor.end_pass());
          FL_RETURN_IF_ERROR(FeedSteps(executor, 1));  // train_from_dataset ends this pass
          const std::vector<InputSpec>& inputs = executor.model().graph.def().inputs;
          Batch rows = *BatchBuilder(inputs).Values("x", std::vector<float>(3, -1)).Build();
          const auto dataset = *InMemoryDataset::FromRows(inputs, rows, {.batch_size = 1});
          FL_RETURN_IF_ERROR(executor.train_from_dataset(*dataset).status());
          EXPECT_EQ(executor.epoch(), 4);
          FL_RETURN_IF_ERROR(fleet.barrier());
          if (!fleet.is_first_worker()) return absl::OkStatus();
          FL_ASSIGN_OR_RETURN(const Tensor counter, executor.parameter(kCounter));
          count = counter.data[0];
          return absl::OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
    const bool sums = std::string_view(mode).ends_with("async");
    EXPECT_EQ(count, sums ? 2 * (5 + 1 + 3) + 2 : 5 + 2 + 1 + 3);
  }
}

TEST(FedPassesTest, SeveralBatchesAreOneRoundWhereWorkersAreJoined) {
  for (const char* mode : {"sync", "half-async", "async"}) {
    SCOPED_TRACE(mode);
    std::atomic<float> count = -1;
    const Status status =
        RunFed(fmt::format("mode={}", mode), [&](Fleet& fleet, Executor& executor) -> Status {
          const std::vector<InputSpec>& inputs = executor.model().graph.def().inputs;
          const Batch one = CountOne(executor.model());
          Batch three = *BatchBuilder(inputs).Values("x", std::vector<float>{-3}).Build();
          const std::vector<Batch> feeds = {one, three};
          const std::vector<Fetch> loss = {executor.model().loss};
          FL_ASSIGN_OR_RETURN(const auto values, executor.run(feeds, loss));
          EXPECT_EQ(values[0].data.size(), 2u);
          // Another number of batches follows.
          FL_RETURN_IF_ERROR(executor.run(one, {}).status());
          if (!fleet.is_first_worker()) {
            FL_RETURN_IF_ERROR(executor.end_pass());
            return fleet.barrier();
          }
          FL_ASSIGN_OR_RETURN(const float found, FinalCount(fleet, executor));
          count = found;
          return absl::OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
    // The mean of 1 and 3, then 1; sync takes the mean of the workers too.
    const std::map<std::string, float> expected = {{"sync", 3}, {"half-async", 6}, {"async", 10}};
    EXPECT_EQ(count, expected.at(mode));
  }
}

TEST(FedPassesTest, ASaveWithinAPassHasWhatItsWorkerFedBefore) {
  for (const char* mode : {"half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    const TempDir dir;
    const std::string model = dir.path() + "/model";
    const Status status =
        RunFed(fmt::format("mode={}", mode), [&](Fleet& fleet, Executor& executor) -> Status {
          if (!fleet.is_first_worker()) return executor.end_pass();
          FL_RETURN_IF_ERROR(FeedSteps(executor, 30));
          FL_RETURN_IF_ERROR(executor.save_persistables(model));
          EXPECT_TRUE(fleet.communicator().in_epoch());
          FL_RETURN_IF_ERROR(FeedSteps(executor, 3));
          return executor.end_pass();
        });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(ReadManifest(model)->info.step, 30);
    auto loaded = *Executor::Make(MakeCounter(), {});
    const Status load =
        loaded->load_persistables(model, {.optimizer_state = std::string_view(mode) != "geo"});
    ASSERT_TRUE(load.ok()) << load;
    EXPECT_EQ(loaded->parameter(kCounter)->data[0], 30);
  }
}

}  // namespace
}  // namespace flotilla
