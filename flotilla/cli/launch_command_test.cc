#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

class LaunchCommandTest : public ::testing::Test {
 protected:
  ProgramRun Launch(std::vector<std::string> flags, const std::string& script) const {
    std::vector<std::string> args = {"launch", "--log_dir", dir_.path() + "/log"};
    args.insert(args.end(), flags.begin(), flags.end());
    for (const std::string& word :
         {std::string("--"), std::string("/bin/sh"), std::string("-c"), script}) {
      args.push_back(word);
    }
    return RunForTest(args);
  }
  std::string Log(const std::string& name) const {
    std::ifstream file(dir_.path() + "/log/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TempDir dir_;
};

TEST_F(LaunchCommandTest, RunsAnyProgramInEveryRole) {
  const ProgramRun run = Launch({"--server_num", "1", "--worker_num", "3", "--threads", "5"},
                                "echo $TRAINING_ROLE $PADDLE_TRAINERS_NUM $CPU_NUM");
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_EQ(Log("workerlog.2"), "TRAINER 3 5\n");
  EXPECT_EQ(Log("serverlog.0"), "PSERVER 3 5\n");
}

TEST_F(LaunchCommandTest, TheNumberOfWorkersOfTheEnvironmentReachesTheTrainers) {
  setenv("CPU_NUM", "7", 1);
  EXPECT_EQ(Launch({"--worker_num", "2"}, "echo $CPU_NUM").code, kSuccess);
  EXPECT_EQ(Log("workerlog.1"), "7\n");
  EXPECT_EQ(Launch({"--worker_num", "2", "--threads", "5"}, "echo $CPU_NUM").code, kSuccess);
  EXPECT_EQ(Log("workerlog.1"), "5\n");
  unsetenv("CPU_NUM");
}

TEST_F(LaunchCommandTest, ReturnsTheExitCodeOfTheFirstFailureAndShowsItsLog) {
  const ProgramRun run =
      Launch({"--worker_num", "2"},
             "if [ \"$PADDLE_TRAINER_ID\" = 1 ]; then echo no such file; exit 7; fi; sleep 100");
  EXPECT_EQ(run.code, 7);
  EXPECT_THAT(run.err, HasSubstr("worker 1 FAILED with exit code 7"));
  EXPECT_THAT(run.err, HasSubstr("no such file"));
}

// The program is lost as often as there are lines in the file `left`.
constexpr char kLostScript[] =
    "if [ $TRAINING_ROLE = TRAINER ] && [ -s $LEFT ]; then sed -i 1d $LEFT; echo lost; kill -9 $$; "
    "fi";

TEST_F(LaunchCommandTest, ALostProcessRestartsTheJob) {
  const std::string left = dir_.path() + "/left";
  setenv("LEFT", left.c_str(), 1);
  std::ofstream(left) << "1\n2\n";
  const ProgramRun run = Launch({"--max_restarts", "2"}, kLostScript);
  EXPECT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("worker 0 was lost: restarting all processes from the same start "
                                 "(restart 2 of at most 2)"));
  // The log of the first start is still there.
  EXPECT_THAT(Log("workerlog.0"), HasSubstr("lost\n"));

  std::ofstream(left) << "1\n2\n3\n";
  const ProgramRun often = Launch({"--max_restarts", "2"}, kLostScript);
  EXPECT_EQ(often.code, 128 + 9) << often.err;
  EXPECT_THAT(often.err, HasSubstr("the job was restarted 2 times without a new save and ends"));

  std::ofstream(left) << "1\n";
  EXPECT_EQ(Launch({}, kLostScript).code, 128 + 9);
  unsetenv("LEFT");
}

TEST_F(LaunchCommandTest, AFailureThatRepeatsByItselfDoesNotRestartTheJob) {
  for (const int code : {1, 2, 128 + 15}) {
    const ProgramRun run = Launch({"--max_restarts", "3"},
                                  "[ $TRAINING_ROLE = PSERVER ] || exit " + std::to_string(code));
    EXPECT_EQ(run.code, code);
    EXPECT_EQ(run.err.find("restarting"), std::string::npos) << run.err;
  }
}

TEST_F(LaunchCommandTest, AHostStartsItsOwnPart) {
  const ProgramRun run =
      Launch({"--servers", "a:6170,b:6170", "--workers", "a,b,b", "--host", "b"}, "exit 0");
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("started server 1"));
  EXPECT_THAT(run.err, HasSubstr("started worker 2"));
  EXPECT_THAT(run.err, ::testing::Not(HasSubstr("started worker 0")));
}

TEST_F(LaunchCommandTest, MistakesAreUsageErrors) {
  EXPECT_EQ(RunForTest({"launch"}).code, kUsageError);
  EXPECT_EQ(Launch({"--servers", "a:1"}, "exit 0").code, kUsageError);
  EXPECT_THAT(Launch({"--servers", "a", "--workers", "a", "--host", "a"}, "exit 0").err,
              HasSubstr("--servers: address \"a\""));
}

}  // namespace
}  // namespace flotilla
