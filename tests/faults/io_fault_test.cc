// Every call of a save that creates, writes, syncs, renames or removes a file fails once: the old
// model is complete, or the new one where it was already in place, and the next save works and
// leaves no temporary file. By one process, by servers for a trainer, and by the keeper of a run's
// models, also on a disk that fails from a call on.
#include "tests/faults/io_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/checkpoint_testing.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/communicator/server_save.h"
#include "flotilla/run/model_keeper.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

// Paths in errors and in io_fault.h are those without links.
std::string RealPath(const std::string& path) { return fs::canonical(path).string(); }

std::vector<std::string> NamesIn(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

const IoCall* FailedCall(const std::vector<IoCall>& calls) {
  for (const IoCall& call : calls) {
    if (call.failed) return &call;
  }
  return nullptr;
}

// One call of a save fails; Describe names it in failures of the test.
struct Case {
  int64_t number = 0;
  int error = EIO;
  std::string cause;
  IoCall call;
};
std::string Describe(const Case& one) {
  return fmt::format("call {}, {} {}: {}", one.number, one.call.function, one.call.path, one.cause);
}

// Runs `save` once without a fault and then with a fault at each of its calls, by EIO and by ENOSPC
// in turn, each time after `prepare`. `check` gets the result of the save. `times`: calls that
// fail. Returns the number of calls of an undisturbed save.
int64_t ForEachCall(const std::string& dir, int64_t times, const std::function<void()>& prepare,
                    const std::function<Status()>& save,
                    const std::function<void(const Case&, const Status&)>& check) {
  prepare();
  StartIoFault({.dir = dir});
  const Status whole = save();
  const auto all = static_cast<int64_t>(EndIoFault().size());
  EXPECT_TRUE(whole.ok()) << whole;
  for (int64_t number = 1; number <= all; ++number) {
    prepare();
    Case one{.number = number, .error = number % 2 == 0 ? EIO : ENOSPC};
    one.cause = one.error == EIO ? "Input/output error" : "No space left on device";
    StartIoFault({.dir = dir, .first = number, .count = times, .error = one.error});
    const Status status = save();
    const std::vector<IoCall> calls = EndIoFault();
    const IoCall* const failed = FailedCall(calls);
    EXPECT_NE(failed, nullptr) << "call " << number << " was not made";
    if (failed == nullptr) break;
    one.call = *failed;
    SCOPED_TRACE(Describe(one));
    check(one, status);
    if (::testing::Test::HasFailure()) break;
  }
  return all;
}

// The error of a save names what could not be done: the file or directory, and the cause.
void ExpectNamed(const Case& one, const Status& status, const std::string& dir) {
  EXPECT_THAT(std::string(Message(status)), AllOf(HasSubstr(dir), HasSubstr(one.cause)));
}

// Calls whose failure does not matter: what the new model replaced is removed after it is in place,
// and again by the next save.
bool IsCleaning(const IoCall& call) {
  static const std::set<std::string> kFunctions = {"unlink",   "rmdir",  "opendir", "open",
                                                   "open64",   "openat", "remove",  "openat64",
                                                   "unlinkat", "close"};
  return kFunctions.count(call.function) > 0;
}

// The sync of the parent directory is the last call before the removal of the old model, and the
// only one whose error leaves the new model in place.
bool IsLastSync(const IoCall& call, const std::string& parent) { return call.path == parent; }

class SaveFaultTest : public ::testing::TestWithParam<bool> {
 protected:
  const TempDir temp_;
  const std::string parent_ = RealPath(temp_.path());
  const std::string dir_ = parent_ + "/model";
};

// The parameter: whether the file system can exchange two directories.
TEST_P(SaveFaultTest, AfterAnErrorOfAnyCallOneModelIsCompleteAndTheNextSaveWorks) {
  const WriterOptions options{.exchange = GetParam()};
  const TestModel first{.version = 1}, second{.version = 2}, third{.version = 3};
  int64_t failed_saves = 0;
  const auto check = [&](const Case& one, const Status& status) {
    const auto content = ReadModel(dir_);
    ASSERT_TRUE(content.ok()) << content.status();
    if (status.ok()) {
      EXPECT_EQ(*content, second.Content());
      EXPECT_TRUE(IsCleaning(one.call));
    } else {
      ++failed_saves;
      ExpectNamed(one, status, parent_);
      EXPECT_EQ(*content, (IsLastSync(one.call, parent_) ? second : first).Content());
    }
    ASSERT_TRUE(third.Save(dir_, options).ok());
    const auto next = ReadModel(dir_);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(*next, third.Content());
    EXPECT_THAT(NamesIn(parent_), ElementsAre("model"));
  };
  const int64_t calls = ForEachCall(
      parent_, 1, [&] { ASSERT_TRUE(first.Save(dir_).ok()); },
      [&] { return second.Save(dir_, options); }, check);
  // Five files, each created, reserved, written, synced and closed, and the directories.
  EXPECT_GT(calls, 5 * 5 + 5);
  EXPECT_GT(failed_saves, 5 * 5);
}

INSTANTIATE_TEST_SUITE_P(, SaveFaultTest, ::testing::Bool(),
                         [](const auto& made) { return made.param ? "Exchange" : "Renames"; });

class ServerSaveFaultTest : public ::testing::TestWithParam<bool> {
 protected:
  static Status Train(PsClient& client) {
    std::vector<float> dense(static_cast<size_t>(client.layout().size()), 1.0f);
    const std::vector<SparseRows> rows = {RowsOf(IdRange(0, 500), 3)};
    return client.Push({.dense = dense, .sparse = rows});
  }
  static Status Save(PsClient& client, const std::string& dir) {
    FL_ASSIGN_OR_RETURN(const auto save, BeginServerSave(&client, {}, true));
    return save->Write(dir, {});
  }
  // The step of a complete model, whose numbers are all equal to it; -1: not complete.
  static int64_t StepOf(const std::string& dir) {
    const auto content = ReadModel(dir);
    EXPECT_TRUE(content.ok()) << content.status();
    if (!content.ok()) return -1;
    const auto step = static_cast<float>(content->info.step);
    EXPECT_THAT(content->dense.at("w0"), ::testing::Each(step));
    EXPECT_THAT(content->rows.at("emb0"), ::testing::Each(step));
    return content->info.step;
  }

  const TempDir temp_;
  const std::string parent_ = RealPath(temp_.path());
  const std::string dir_ = parent_ + "/model";
};

// The parameter: whether the servers write, or a trainer for them.
TEST_P(ServerSaveFaultTest, AnErrorOfAnyCallIsThatOfTheSaveAndNotOfTheJob) {
  ClusterOptions options{.servers = 2};
  options.client.shared_storage = GetParam();
  InProcessCluster cluster(CountingModel({1000}, {3}), options);
  ASSERT_TRUE(cluster.ConnectAll().ok());
  PsClient& client = cluster.client(0);
  int64_t before = 0, failed_saves = 0;
  const auto prepare = [&] {
    ASSERT_TRUE(Train(client).ok());
    ASSERT_TRUE(Save(client, dir_).ok());
    before = StepOf(dir_);
    ASSERT_TRUE(Train(client).ok());
  };
  const auto check = [&](const Case& one, const Status& status) {
    const int64_t step = StepOf(dir_);
    if (status.ok()) {
      EXPECT_TRUE(IsCleaning(one.call));
      EXPECT_EQ(step, before + 1);
    } else {
      ++failed_saves;
      ExpectNamed(one, status, dir_);
      EXPECT_EQ(step, IsLastSync(one.call, parent_) ? before + 1 : before);
    }
    ASSERT_TRUE(Train(client).ok()) << "training goes on";
    ASSERT_TRUE(Save(client, dir_).ok());
    EXPECT_EQ(StepOf(dir_), before + 2);
    EXPECT_THAT(NamesIn(parent_), ElementsAre("model"));
  };
  const int64_t calls = ForEachCall(
      parent_, 1, prepare, [&] { return Save(client, dir_); }, check);
  EXPECT_GT(calls, 4 * 5 + 5) << "two tables, dense parameters, a manifest";
  EXPECT_GT(failed_saves, 4 * 5);
  EXPECT_TRUE(cluster.StopAll().ok());
}

INSTANTIATE_TEST_SUITE_P(, ServerSaveFaultTest, ::testing::Bool(), [](const auto& made) {
  return made.param ? "ServersWrite" : "TrainerWrites";
});

class KeeperFaultTest : public ::testing::Test {
 protected:
  KeeperFaultTest() {
    spec_.optimizer.name = "sgd";
    spec_.optimizer.learning_rate.params = {{"rate", 1.0}};
    spec_.parameters.push_back({.name = "w", .shape = {4}});
    local_ = *LocalCommunicator::Make(spec_, {});
  }
  std::unique_ptr<ModelKeeper> Keeper(bool overwrite = false) {
    return std::make_unique<ModelKeeper>(
        local_.get(),
        ModelKeeperOptions{.dir = dir_,
                           .keep = 1,
                           .overwrite = overwrite,
                           .on_not_removed = [this](const Status&) { ++not_removed_; }});
  }
  static Status Save(ModelKeeper& keeper, const std::string& name, bool best) {
    FL_RETURN_IF_ERROR(keeper.Begin(name, best, {{"name", name}}));
    return keeper.Wait();
  }
  // The model that a link points to, which is complete; empty: there is no link.
  std::string Linked(const std::string& link) const {
    if (!fs::is_symlink(dir_ + "/" + link)) return "";
    const auto content = ReadModel(dir_ + "/" + link);
    EXPECT_TRUE(content.ok()) << link << ": " << content.status();
    return content.ok() ? content->info.sections.at("name") : "damaged";
  }
  void Clear() {
    for (const auto& entry : fs::directory_iterator(dir_)) fs::remove_all(entry.path());
  }

  // From `times` calls on that fail, in the middle of the models of a run: the third epoch fails.
  void CheckEveryCall(int64_t times) {
    std::unique_ptr<ModelKeeper> keeper;
    int64_t failed_saves = 0;
    const auto prepare = [&] {
      keeper = nullptr;
      Clear();
      keeper = Keeper();
      ASSERT_TRUE(Save(*keeper, "epoch_0", /*best=*/true).ok());
      ASSERT_TRUE(Save(*keeper, "epoch_1", false).ok());
    };
    const auto check = [&](const Case& one, const Status& status) {
      if (status.ok()) {
        EXPECT_EQ(Linked("latest"), "epoch_2");
        EXPECT_EQ(Linked("best"), "epoch_2");
      } else {
        ++failed_saves;
        EXPECT_EQ(keeper->failed(), 1);
        ExpectNamed(one, status, dir_);
        EXPECT_THAT(Linked("latest"), AnyOf(Eq("epoch_1"), Eq("epoch_2")));
        EXPECT_EQ(Linked("best"), "epoch_0");
        EXPECT_THAT(std::string(Message(status)), HasSubstr("/best is still epoch_0"));
      }
      const bool best = !status.ok();
      const Status next = Save(*keeper, "epoch_3", best);
      ASSERT_TRUE(next.ok()) << next;
      EXPECT_EQ(Linked("latest"), "epoch_3");
      if (best) {
        EXPECT_THAT(NamesIn(dir_), ElementsAre("best", "epoch_3", "latest"));
      } else {
        EXPECT_THAT(NamesIn(dir_), ElementsAre("best", "epoch_2", "epoch_3", "latest"));
      }
    };
    const int64_t calls = ForEachCall(
        dir_, times, prepare, [&] { return Save(*keeper, "epoch_2", /*best=*/true); }, check);
    EXPECT_GT(calls, 20);
    EXPECT_GT(failed_saves, 10);
    EXPECT_GT(not_removed_, 0);
  }

  ModelSpec spec_;
  std::unique_ptr<LocalCommunicator> local_;
  const TempDir temp_;
  const std::string dir_ = RealPath(temp_.path());
  int64_t not_removed_ = 0;
};

TEST_F(KeeperFaultTest, AfterAnErrorOfAnyCallTheLinksLeadToCompleteModels) { CheckEveryCall(1); }

TEST_F(KeeperFaultTest, LikewiseIfEveryCallFromThereOnFails) { CheckEveryCall(1'000'000); }

TEST_F(KeeperFaultTest, ARunThatOverwritesAnotherLosesNeither) {
  std::unique_ptr<ModelKeeper> keeper;
  const auto prepare = [&] {
    Clear();
    keeper = Keeper();
    ASSERT_TRUE(Save(*keeper, "epoch_5", /*best=*/true).ok());
    ASSERT_TRUE(Save(*keeper, "epoch_6", false).ok());
    keeper = Keeper(/*overwrite=*/true);
  };
  const auto check = [&](const Case& one, const Status& status) {
    EXPECT_EQ(status.ok(), Linked("latest") == "epoch_0");
    if (!status.ok()) {
      ExpectNamed(one, status, dir_);
      EXPECT_EQ(Linked("best"), "epoch_5");
    }
    const Status next = Save(*keeper, "epoch_1", false);
    ASSERT_TRUE(next.ok()) << next;
    EXPECT_EQ(Linked("latest"), "epoch_1");
    EXPECT_THAT(NamesIn(dir_), ElementsAre("epoch_1", "latest"));
  };
  ForEachCall(
      dir_, 1, prepare, [&] { return Save(*keeper, "epoch_0", false); }, check);
}

}  // namespace
}  // namespace flotilla
