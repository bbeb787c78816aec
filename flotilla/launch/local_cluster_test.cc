// The launcher with shell commands as programs: roles, logs, failures, signals, nothing left over.
#include "flotilla/launch/local_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Whether a process has ended, or ends within a short time: the kernel may deliver a signal with a
// delay.
bool HasEnded(pid_t pid) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string id, name, state;
    if (!(stat >> id >> name >> state) || state == "Z" || state == "X") return true;
    std::this_thread::yield();
  }
  return false;
}

class LocalClusterTest : public ::testing::Test {
 protected:
  // Runs `script` as two servers and two trainers; `stop_when` gives the signal to stop for.
  StatusOr<ClusterResult> Run(
      const std::string& script, std::function<int()> stop = [] { return 0; }) {
    LocalClusterOptions options;
    options.command = {"/bin/sh", "-c", script};
    options.servers = {"127.0.0.1:6170", "127.0.0.1:6171"};
    options.trainer_hosts = {"127.0.0.1", "127.0.0.1"};
    options.log_dir = Log();
    options.hear_seconds = 0.1;
    options.grace_seconds = grace_seconds_;
    options.server_seconds = 0.2;
    options.turns = turns_;
    LocalCluster cluster(options, &clock_, [&](std::string_view line) {
      said_ += line;
      said_ += '\n';
    });
    return cluster.Run(stop, [] {});
  }

  std::string Log() const { return dir_.path() + "/log"; }
  std::string Read(const std::string& name) const {
    std::ifstream file(Log() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TempDir dir_;
  const SteadyClock clock_;
  std::string said_;
  int turns_ = 0;
  double grace_seconds_ = 0.3;
};

TEST_F(LocalClusterTest, TellsEveryProcessItsRoleAndKeepsItsOutput) {
  const auto result = Run("echo $TRAINING_ROLE $PADDLE_TRAINER_ID $PADDLE_PORT; echo oops >&2");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(Read("serverlog.1"), "PSERVER 6171\noops\n");
  EXPECT_EQ(Read("workerlog.0"), "TRAINER 0\noops\n");
  EXPECT_EQ(Read("workerlog.1"), "TRAINER 1\noops\n");
}

TEST_F(LocalClusterTest, TheFirstFailureStopsAllAndIsShownWithItsLastLines) {
  const auto result =
      Run("if [ \"$PADDLE_TRAINER_ID\" = 1 ]; then echo the true cause; exit 3; fi; sleep 100");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->failed, "worker 1");
  EXPECT_THAT(said_, HasSubstr("worker 1 FAILED with exit code 3"));
  EXPECT_THAT(said_, HasSubstr("the true cause"));
  // The logs of the processes that are stopped contain the cause.
  const std::string cause = "launcher: worker 1 FAILED with exit code 3";
  EXPECT_THAT(Read("workerlog.1"), HasSubstr(cause));
  for (const char* other : {"serverlog.0", "serverlog.1", "workerlog.0"}) {
    EXPECT_THAT(Read(other), HasSubstr(cause + ": stopping this process")) << other;
  }
}

TEST_F(LocalClusterTest, TrainersTakeTurnsWhereThereAreMoreThanMayTrainAtOnce) {
  const std::string script = "[ -z \"$FLOTILLA_TURNS\" ] || head -c 4 $FLOTILLA_TURNS | wc -c";
  turns_ = 1;
  ASSERT_TRUE(Run(script).ok());
  EXPECT_EQ(Read("workerlog.0"), "4\n");
  EXPECT_EQ(Read("workerlog.1"), "4\n");
  EXPECT_EQ(Read("serverlog.0"), "");
  turns_ = 2;
  ASSERT_TRUE(Run(script).ok());
  EXPECT_EQ(Read("workerlog.0"), "");
}

TEST_F(LocalClusterTest, FiguresOfTrainersDoNotOutliveTheJob) {
  const auto result = Run("[ -z \"$FLOTILLA_STATUS_FILE\" ] || echo 1 > $FLOTILLA_STATUS_FILE");
  ASSERT_TRUE(result.ok()) << result.status();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Log())) {
    EXPECT_EQ(entry.path().string().find("status"), std::string::npos) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 4) << "the logs";
}

TEST_F(LocalClusterTest, AProcessThatIsKilledIsAFailure) {
  const auto result = Run("if [ \"$PADDLE_PORT\" = 6170 ]; then kill -9 $$; fi; sleep 100");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 128 + SIGKILL);
  EXPECT_EQ(result->failed, "server 0");
}

TEST_F(LocalClusterTest, ASignalStopsAllAlsoThoseWhoDoNotListen) {
  const std::string started = dir_.path() + "/started";
  const auto result =
      Run("trap '' TERM; echo > " + started + ".$$; while :; do sleep 0.05; done", [&] {
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
          count += entry.path().filename().string().starts_with("started") ? 1 : 0;
        }
        return count == 4 ? SIGTERM : 0;
      });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 128 + SIGTERM);
  EXPECT_TRUE(result->failed.empty());
  EXPECT_THAT(Read("serverlog.0"), HasSubstr("launcher: the launcher got signal 15"));
  EXPECT_THAT(Read("serverlog.0"), HasSubstr("killing this process"));
}

// A trainer that saves through its servers needs them until it has ended.
TEST_F(LocalClusterTest, ASignalStopsServersAfterTheTrainersHaveEnded) {
  grace_seconds_ = 60;
  const std::string order = dir_.path() + "/order";
  const auto result =
      Run("end() { [ \"$TRAINING_ROLE\" = PSERVER ] || sleep 0.1; echo $TRAINING_ROLE >> " + order +
              "; exit 0; }; trap end TERM; echo up >> " + order + "; while :; do sleep 0.01; done",
          [&] {
            std::ifstream file(order);
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            return std::count(text.begin(), text.end(), 'u') == 4 ? SIGTERM : 0;
          });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 128 + SIGTERM);
  EXPECT_EQ(ContentOf(order), "up\nup\nup\nup\nTRAINER\nTRAINER\nPSERVER\nPSERVER\n");
}

// It could not save, for example.
TEST_F(LocalClusterTest, ATrainerThatFailsWhenItIsStoppedIsAFailure) {
  const std::string up = dir_.path() + "/up";
  const auto result =
      Run("trap '[ $PADDLE_TRAINER_ID = 1 ] && echo full disk && exit 7; exit 143' TERM; "
          "echo up >> " +
              up + "; while :; do sleep 0.01; done",
          [&] { return std::filesystem::exists(up) && ContentOf(up).size() == 12 ? SIGTERM : 0; });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(result->failed, "worker 1");
  EXPECT_FALSE(result->lost);
  EXPECT_THAT(said_, HasSubstr("worker 1 FAILED with exit code 7; the end of"));
  EXPECT_THAT(said_, HasSubstr("full disk"));
}

TEST_F(LocalClusterTest, ServersThatStayAreStoppedWhenTheTrainersHaveEnded) {
  const auto result = Run("[ \"$TRAINING_ROLE\" = TRAINER ] || sleep 100");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_THAT(said_, HasSubstr("all trainers have ended, servers have not"));
}

TEST_F(LocalClusterTest, ServersStayWhereTrainersOfOtherHostsMayStillRun) {
  LocalClusterOptions options;
  options.command = {"/bin/sh", "-c", "sleep 0.3"};
  options.servers = {"127.0.0.1:6170"};
  options.trainer_hosts = {"another"};
  options.log_dir = Log();
  options.server_seconds = 0.01;
  std::string said;
  LocalCluster cluster(options, &clock_, [&](std::string_view line) { said += line; });
  const auto result = cluster.Run([] { return 0; }, [] {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_THAT(said, Not(HasSubstr("stopping")));
}

TEST_F(LocalClusterTest, WhatAProcessLeavesRunningIsKilledWithIt) {
  const std::string file = dir_.path() + "/pid";
  const auto result = Run("sleep 1000 & echo $! > " + file + ".$$");
  ASSERT_TRUE(result.ok()) << result.status();
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    if (!entry.path().filename().string().starts_with("pid.")) continue;
    pid_t pid = 0;
    std::ifstream(entry.path()) >> pid;
    EXPECT_TRUE(HasEnded(pid)) << pid;
  }
}

TEST_F(LocalClusterTest, TheExcerptOfAFailureLeavesOutTheTableOfSettings) {
  const auto result =
      Run("[ \"$TRAINING_ROLE\" = TRAINER ] || exec sleep 60\n"
          "echo '[10:00:00] trainer 1 of 2, mode async'; echo '[10:00:00] communication:'\n"
          "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo \"  FLAGS_communicator_$i  $i\"; "
          "done\n"
          "echo; echo 'prog: --data: rows:3:1: not a number'; exit 1");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 1);
  EXPECT_THAT(said_, HasSubstr("mode async\nprog: --data: rows:3:1: not a number"));
  EXPECT_THAT(said_, Not(HasSubstr("FLAGS_communicator")));
  EXPECT_THAT(Read("workerlog.0"), HasSubstr("FLAGS_communicator_7"));
}

TEST_F(LocalClusterTest, ACommandThatIsNotThereIsAnError) {
  LocalClusterOptions options;
  options.command = {"no-such-program"};
  options.servers = {"127.0.0.1:6170"};
  options.trainer_hosts = {"127.0.0.1"};
  options.log_dir = Log();
  LocalCluster cluster(options, &clock_, [](std::string_view) {});
  const auto result = cluster.Run([] { return 0; }, [] {});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(Message(result.status())),
              HasSubstr("server 0: cannot run no-such-program: No such file"));
}

TEST_F(LocalClusterTest, TheProgramsHandlerOfEndedChildrenStaysAndOneThatIgnoresThemComesBack) {
  struct sigaction former = {};
  sigaction(SIGCHLD, nullptr, &former);
  for (sighandler_t handler : {static_cast<sighandler_t>([](int) {}), SIG_IGN}) {
    signal(SIGCHLD, handler);
    const auto result = Run("exit 3");
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->exit_code, 3);
    EXPECT_EQ(signal(SIGCHLD, SIG_DFL), handler);
  }
  sigaction(SIGCHLD, &former, nullptr);
}

}  // namespace
}  // namespace flotilla
