#include "flotilla/fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/fleet/fleet_testing.h"
#include "flotilla/fleet/odd_model_testing.h"
#include "flotilla/launch/free_port.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string OddRows(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += fmt::format("1 {} 1 {}\n", i, i % 2);
  return text;
}

using Program = std::function<Status(Fleet&)>;

// What a test's program trains on and how.
struct TrainingPlan {
  std::vector<std::string> files;
  Strategy strategy;
  std::string init_model, save_to;
  int epochs = 1;
};

// Of the last epoch, as the first worker reports it.
struct Seen {
  int64_t rows = 0;
  double auc = 0;
  int64_t step = 0;
  std::vector<int64_t> rows_per_worker;
};

Status TrainPlan(Fleet& fleet, OddClicks built, const TrainingPlan& plan, Seen* seen) {
  FL_RETURN_IF_ERROR(fleet.init_worker());
  auto dataset = *DatasetFactory().create_dataset("InMemoryDataset");
  dataset->set_use_var({built.ids, built.label});
  dataset->set_batch_size(10);
  FL_ASSIGN_OR_RETURN(auto files, fleet.split_files(plan.files));
  dataset->set_filelist(files);
  FL_ASSIGN_OR_RETURN(auto executor,
                      Executor::Make(std::move(built.model), &fleet.communicator(), {}));
  Report report;
  for (int epoch = 0; epoch < plan.epochs; ++epoch) {
    FL_RETURN_IF_ERROR(dataset->global_shuffle(fleet));
    FL_ASSIGN_OR_RETURN(report, executor->train_from_dataset(*dataset));
  }
  FL_ASSIGN_OR_RETURN(report, executor->infer_from_dataset(*dataset));
  FL_ASSIGN_OR_RETURN(const auto counts,
                      fleet.group().Gather("counts", fmt::to_string(report.rows)));
  FL_RETURN_IF_ERROR(fleet.global_report(executor->model(), &report));
  if (fleet.is_first_worker()) {
    *seen = {.rows = report.rows,
             .auc = report.Metric("auc"),
             .step = fleet.communicator().global_step(),
             .rows_per_worker = {}};
    for (const std::string& count : counts) seen->rows_per_worker.push_back(std::stoll(count));
  }
  if (plan.save_to.empty()) return absl::OkStatus();
  return fleet.save_persistables(*executor, plan.save_to);
}

Program ProgramOf(const TrainingPlan& plan, Seen* seen) {
  return [&plan, seen](Fleet& fleet) -> Status {
    OddClicks built = MakeOddClicks();
    FL_RETURN_IF_ERROR(fleet.distributed_optimizer(built.model, plan.strategy));
    if (fleet.is_server()) {
      FL_RETURN_IF_ERROR(fleet.init_server(plan.init_model));
      return fleet.run_server();
    }
    return fleet.stop_worker(TrainPlan(fleet, std::move(built), plan, seen));
  };
}

class FleetTest : public ::testing::Test {
 protected:
  const TempDir dir_;
  // Uneven files.
  const std::vector<std::string> files_ = {dir_.Write("a", OddRows(0, 300)),
                                           dir_.Write("b", OddRows(300, 340))};
};

TEST_F(FleetTest, WithoutServersTheSameProgramRunsLocal) {
  TrainingPlan plan;
  plan.files = files_;
  plan.strategy.sync_mode = false;
  plan.save_to = dir_.path() + "/model";
  plan.epochs = 6;
  Fleet fleet;
  ASSERT_TRUE(fleet.init(AsRole({})).ok());
  EXPECT_TRUE(fleet.is_worker() && fleet.is_first_worker() && !fleet.is_server());
  EXPECT_EQ(fleet.worker_num(), 1);
  EXPECT_EQ(fleet.server_num(), 0);
  Seen seen;
  const Status status = ProgramOf(plan, &seen)(fleet);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen.rows, 340);
  EXPECT_GT(seen.auc, 0.9);
  EXPECT_TRUE(std::filesystem::exists(plan.save_to + "/manifest.json"));
}

TEST_F(FleetTest, StrategiesTrainAllRowsAndWarmStartOnAnotherNumberOfServers) {
  for (const char* text : {"sync_mode=true", "sync_mode=false", "geo_sgd_mode=true"}) {
    SCOPED_TRACE(text);
    TrainingPlan plan;
    plan.files = files_;
    plan.strategy = *Strategy::FromText(text);
    plan.save_to = fmt::format("{}/{}", dir_.path(), text);
    plan.epochs = 6;
    Seen first, second;
    Status status = RunThreadJob(2, 3, ProgramOf(plan, &first));  // one trainer has no file
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(first.rows, 340);
    EXPECT_GT(first.auc, 0.9);
    plan.init_model = plan.save_to;
    plan.save_to = "";
    plan.epochs = 1;
    status = RunThreadJob(3, 1, ProgramOf(plan, &second));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_GE(second.auc, first.auc - 0.01);
    const int64_t saved = ReadManifest(plan.init_model)->info.step;
    EXPECT_EQ(second.step, saved + 34) << "the global step goes on";
  }
}

TEST_F(FleetTest, GlobalShuffleSpreadsTheRowsOfAllAndLosesNone) {
  TrainingPlan plan;
  plan.files = files_;
  Seen seen, again;
  for (Seen* each : {&seen, &again}) {
    const Status status = RunThreadJob(1, 3, ProgramOf(plan, each));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(each->rows, 340);
  }
  // About a third each, though one worker read 300 rows and one none.
  for (const int64_t rows : seen.rows_per_worker) EXPECT_NEAR(rows, 113, 40);
  EXPECT_EQ(seen.rows_per_worker, again.rows_per_worker);
}

TEST_F(FleetTest, ServersRefuseAWorkerWithAnotherModelAndSayWhatDiffers) {
  std::atomic<bool> refused = false;
  Status worker;
  RunThreadJob(1, 1, [&](Fleet& fleet) -> Status {
    OddClicks built = MakeOddClicks(fleet.is_server() ? 0.25 : 0.5);
    FL_RETURN_IF_ERROR(fleet.distributed_optimizer(built.model));
    if (!fleet.is_server()) {
      worker = fleet.stop_worker(fleet.init_worker());
      refused = true;
      return worker;
    }
    FL_RETURN_IF_ERROR(fleet.init_server());
    return fleet.run_server([&] { return refused.load(); });
  }).IgnoreError();
  EXPECT_THAT(std::string(worker.message()), HasSubstr("differ"));
  EXPECT_THAT(std::string(worker.message()), HasSubstr("rate=0.5"));
}

TEST_F(FleetTest, AnErrorOfOneWorkerReachesEveryProcess) {
  std::vector<Status> others(3);
  const Status status = RunThreadJob(1, 2, [&](Fleet& fleet) -> Status {
    OddClicks built = MakeOddClicks();
    FL_RETURN_IF_ERROR(fleet.distributed_optimizer(built.model));
    if (fleet.is_server()) {
      FL_RETURN_IF_ERROR(fleet.init_server());
      others[2] = fleet.run_server();
      return others[2];
    }
    FL_RETURN_IF_ERROR(fleet.init_worker());
    FL_RETURN_IF_ERROR(fleet.barrier());
    if (fleet.is_first_worker()) return fleet.stop_worker(DataLoss("row 7 is no row"));
    others[1] = fleet.barrier();
    return fleet.stop_worker(others[1]);
  });
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(others[1].message()), HasSubstr("row 7 is no row"));
  EXPECT_THAT(std::string(others[2].message()), HasSubstr("row 7 is no row"));
}

TEST_F(FleetTest, InitServerNamesAModelThatIsNotThereOrDoesNotFit) {
  Role role{.kind = Role::Kind::kServer, .servers = *FreeAddresses(1, 0)};
  Fleet fleet;
  ASSERT_TRUE(fleet.init(AsRole(role)).ok());
  const OddClicks built = MakeOddClicks();
  ASSERT_TRUE(fleet.distributed_optimizer(built.model).ok());
  ASSERT_TRUE(fleet.init_server(dir_.path() + "/none").ok());
  EXPECT_THAT(std::string(fleet.run_server().message()), HasSubstr("/none"));
}

TEST(FleetRoleTest, TheEnvironmentGivesTheRoleAndContradictionsNameTheVariable) {
  Environment environment = {{"TRAINING_ROLE", "TRAINER"},
                             {"PADDLE_TRAINERS_NUM", "2"},
                             {"PADDLE_TRAINER_ID", "1"},
                             {"PADDLE_PSERVERS_IP_PORT_LIST", "127.0.0.1:6170,127.0.0.1:6171"},
                             {"CPU_NUM", "3"}};
  Fleet fleet;
  ASSERT_TRUE(fleet.init({.environment = environment}).ok());
  EXPECT_TRUE(fleet.is_worker() && !fleet.is_first_worker());
  EXPECT_EQ(fleet.worker_num(), 2);
  EXPECT_EQ(fleet.worker_index(), 1);
  EXPECT_EQ(fleet.server_num(), 2);
  EXPECT_EQ(fleet.worker_threads(), 3);
  EXPECT_THAT(*fleet.split_files({"c", "a", "b"}), ElementsAre("c"));
  EXPECT_THAT(*fleet.split_files({"a"}), ElementsAre());
  EXPECT_FALSE(fleet.split_files({}).ok());
  const OddClicks built = MakeOddClicks();
  EXPECT_THAT(std::string(fleet.distributed_optimizer(built.model, {.mode = "local"}).message()),
              HasSubstr("TRAINING_ROLE"));

  environment["PADDLE_TRAINER_ID"] = "2";
  EXPECT_THAT(std::string(Fleet().init({.environment = environment}).message()),
              HasSubstr("PADDLE_TRAINER_ID is 2"));
}

TEST(FleetRoleTest, CallsOutOfTurnSayWhatComesFirst) {
  const OddClicks built = MakeOddClicks();
  Fleet fleet;
  EXPECT_THAT(std::string(fleet.distributed_optimizer(built.model).message()),
              HasSubstr("after init"));
  ASSERT_TRUE(fleet.init(AsRole({})).ok());
  EXPECT_FALSE(fleet.init(AsRole({})).ok());
  EXPECT_THAT(std::string(fleet.init_worker().message()), HasSubstr("after distributed_optimizer"));
  ASSERT_TRUE(fleet.distributed_optimizer(built.model).ok());
  EXPECT_THAT(std::string(fleet.init_server().message()), HasSubstr("this process is local"));
  EXPECT_THAT(std::string(fleet.stop_worker().message()), HasSubstr("after init_worker"));
}

}  // namespace
}  // namespace flotilla
