// A server that passes its bound of memory. That runs save and stop when they are asked to is shown
// with whole programs (tests/faults/max_memory_test.py).
#include "flotilla/launch/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/memory_watch.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/launch/free_port.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServerMemoryTest : public ::testing::Test {
 protected:
  ServerMemoryTest() {
    spec_.parameters.push_back({.name = "w", .shape = {3}});
    spec_.tables.push_back({.name = "emb", .dim = 2});
    spec_.optimizer = Sgd(1);
    options_.mode.mode = "async";
    options_.max_memory = ResidentBytes() + (int64_t{64} << 20);
    options_.on_stop_asked = [this](const std::string& cause) { asked_.set_value(cause); };
    role_.kind = Role::Kind::kServer;
    role_.servers = *FreeAddresses(1, 0);
    role_.trainers = 1;
  }

  // Serves in another thread while this one is a trainer; returns the outcome of the server.
  Status Serve(const std::function<void(TrainerJob&)>& train) {
    auto served = std::async(std::launch::async, [this] {
      return RunServer(
          role_, spec_, options_, &clock_, [](std::string_view) {}, [] { return false; });
    });
    Role trainer = role_;
    trainer.kind = Role::Kind::kTrainer;
    StatusOr<TrainerJob> job = JoinJob(trainer, spec_, options_, &clock_, [](std::string_view) {});
    EXPECT_TRUE(job.ok()) << job.status();
    if (job.ok()) train(*job);
    return served.get();
  }

  // What the server asks with; empty: it does not.
  std::string Asked() {
    auto asked = asked_.get_future();
    const bool is_asked = asked.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    return is_asked ? asked.get() : "";
  }

  // Makes this process, and so the server in it, pass the bound.
  void PassBound() {
    constexpr size_t kBytes = size_t{256} << 20;
    memory_ = *MappedMemory::Make(kBytes, /*huge_pages=*/false);
    for (size_t at = 0; at < kBytes; at += 4096) memory_.data()[at] = std::byte{1};
  }

  const SteadyClock clock_;
  MappedMemory memory_;
  ModelSpec spec_;
  JobOptions options_;
  Role role_;
  std::promise<std::string> asked_;
};

TEST_F(ServerMemoryTest, TheTrainerIsAskedToStopAndTheServerEndsWithTheCause) {
  const Status status = Serve([this](TrainerJob& job) {
    PassBound();
    const std::string cause = Asked();
    EXPECT_THAT(cause, HasSubstr("server 0 (127.0.0.1:"));
    EXPECT_THAT(cause, HasSubstr(" MiB: table emb (0 rows) "));
    EXPECT_TRUE(job.Stop(/*asked=*/true).ok());
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("use more servers"));
}

TEST_F(ServerMemoryTest, AJobThatHasTrainedAllItsRowsEndsWell) {
  const Status status = Serve([this](TrainerJob& job) {
    PassBound();
    EXPECT_THAT(Asked(), HasSubstr("server 0"));
    EXPECT_TRUE(job.Stop().ok());
  });
  EXPECT_TRUE(status.ok()) << status;
}

// A program with its own loop, which has nobody to ask.
TEST_F(ServerMemoryTest, ATrainerThatDoesNotStopIsEndedWithTheCause) {
  options_.on_stop_asked = nullptr;
  options_.asked_grace_ms = 50;
  const Status status = Serve([this](TrainerJob& job) {
    PassBound();
    Status end;
    std::vector<float> dense(static_cast<size_t>(job.client->layout().size()));
    while (end.ok()) end = job.client->PullDense(dense);
    EXPECT_TRUE(absl::IsResourceExhausted(end)) << end;
    EXPECT_THAT(std::string(Message(end)), HasSubstr("server 0: "));
    EXPECT_THAT(std::string(Message(end)), HasSubstr("use more servers"));
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

// A save may take longer than the grace.
TEST_F(ServerMemoryTest, ASaveIsNotEnded) {
  options_.asked_grace_ms = 50;
  const Status status = Serve([this](TrainerJob& job) {
    auto save = job.communicator->BeginSave({});
    ASSERT_TRUE(save.ok()) << save.status();
    PassBound();
    EXPECT_THAT(Asked(), HasSubstr("server 0"));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const TempDir dir;
    const Status written = (*save)->Write(dir.path() + "/model", {});
    EXPECT_TRUE(written.ok()) << written;
    save->reset();
    EXPECT_TRUE(job.Stop(/*asked=*/true).ok());
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

// The operating system would end it in the middle of the load.
TEST_F(ServerMemoryTest, AModelThatDoesNotFitIsAnErrorBeforeTheServerListens) {
  const TempDir dir;
  options_.init_model = dir.path() + "/model";
  const auto local = *LocalCommunicator::Make(spec_, {});
  SparseRows rows{.dim = 2, .ids = {1, 2, 3}};
  ASSERT_TRUE(local->Pull(0, Missing::kCreate, {&rows, 1}).ok());
  ASSERT_TRUE((*local->BeginSave({}))->Write(options_.init_model, {}).ok());
  PassBound();
  options_.asked_grace_ms = 50;
  std::string log;
  const Status status = RunServer(
      role_, spec_, options_, &clock_, [&](std::string_view line) { log += line; },
      [] { return false; });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("init_server " + options_.init_model));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("use more servers"));
  EXPECT_THAT(log, Not(HasSubstr("listens on")));
}

}  // namespace
}  // namespace flotilla
