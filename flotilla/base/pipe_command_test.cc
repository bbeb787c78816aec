#include "flotilla/base/pipe_command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A stream over text in memory, without a descriptor, that may end with an error.
class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::string text, Status end = absl::OkStatus())
      : text_(std::move(text)), end_(std::move(end)) {}
  const std::string& name() const override { return name_; }
  StatusOr<size_t> Read(std::span<char> out) override {
    const size_t bytes = std::min(out.size(), text_.size() - place_);
    std::copy_n(text_.data() + place_, bytes, out.data());
    place_ += bytes;
    if (bytes == 0) FL_RETURN_IF_ERROR(end_);
    return bytes;
  }

 private:
  const std::string name_ = "memory";
  const std::string text_;
  const Status end_;
  size_t place_ = 0;
};

StatusOr<std::string> ReadAll(ByteStream& stream) {
  std::string text;
  std::vector<char> buffer(10'000);
  while (true) {
    FL_ASSIGN_OR_RETURN(const size_t got, stream.Read(buffer));
    if (got == 0) return text;
    text.append(buffer.data(), got);
  }
}

StatusOr<std::string> RunOn(const std::string& command, std::unique_ptr<ByteStream> input,
                            PipeCommandOptions options = {}) {
  FL_ASSIGN_OR_RETURN(std::unique_ptr<PipeCommand> pipe,
                      PipeCommand::Start(command, "the file", std::move(input), options));
  return ReadAll(*pipe);
}

std::string ErrorOf(const StatusOr<std::string>& result) {
  return std::string(Message(result.status()));
}

// Whether this process has no child left to reap.
bool NoChildren() { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

TEST(PipeCommandTest, OutputOfTheCommandOnAFileIsTheStream) {
  TempDir dir;
  StatusOr<std::unique_ptr<RawFile>> file = RawFile::Open(dir.Write("a", "one\ntwo\n"));
  ASSERT_TRUE(file.ok());
  StatusOr<std::string> text = RunOn("tr a-z A-Z | cat", *std::move(file));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "ONE\nTWO\n");
  EXPECT_TRUE(NoChildren());
}

TEST(PipeCommandTest, StreamWithoutADescriptorIsFed) {
  std::string input;
  for (int i = 0; i < 500'000; ++i) input += fmt::format("{}\n", i);
  StatusOr<std::string> text = RunOn("cat", std::make_unique<MemoryStream>(input));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, input);
}

TEST(PipeCommandTest, WithoutInputTheCommandReadsNothing) {
  StatusOr<std::string> text = RunOn("wc -c", nullptr);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "0\n");
}

TEST(PipeCommandTest, CommandNeedNotReadAllItsInput) {
  StatusOr<std::string> text =
      RunOn("head -c 3", std::make_unique<MemoryStream>("abc" + std::string(5'000'000, 'x')));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "abc");
}

TEST(PipeCommandTest, EndIsToldAgain) {
  StatusOr<std::unique_ptr<PipeCommand>> pipe = PipeCommand::Start("echo x", "f", nullptr, {});
  ASSERT_TRUE(pipe.ok());
  EXPECT_EQ(*ReadAll(**pipe), "x\n");
  EXPECT_EQ(*ReadAll(**pipe), "");
}

TEST(PipeCommandTest, ExitCodeIsAnErrorWithFileCommandAndStandardError) {
  const std::string command = "echo rows; echo no such column >&2; exit 3";
  EXPECT_EQ(ErrorOf(RunOn(command, nullptr)),
            "the file: command `" + command +
                "` exited with code 3; its standard error ends with:\nno such column");
  EXPECT_TRUE(NoChildren());
}

TEST(PipeCommandTest, SignalsAreNamed) {
  EXPECT_EQ(ErrorOf(RunOn("kill -9 $$", nullptr)),
            "the file: command `kill -9 $$` was killed by signal 9 (Killed); its standard error is "
            "empty");
  EXPECT_THAT(ErrorOf(RunOn("sh -c 'kill -11 $$'; exit $?", nullptr)),
              HasSubstr("exited with code 139 (128 + signal 11, Segmentation fault)"));
}

TEST(PipeCommandTest, MissingProgramIsAnErrorThatSaysSo) {
  EXPECT_THAT(ErrorOf(RunOn("./no_such_program_here", nullptr)),
              ::testing::AllOf(HasSubstr("exited with code 127"), HasSubstr("not found")));
}

struct Hang {
  int64_t idle_ms = 0;
  std::string error;
};

// Runs a command that never ends. A busy machine may need longer than the idle timeout to start it,
// so the timeout grows until the error contains `text`, which shows that the command has reached
// the point where it hangs.
Hang RunHanging(const std::string& command, std::string_view text,
                PipeCommandOptions options = {}) {
  Hang hang;
  for (options.idle_timeout_ms = 100; options.idle_timeout_ms < 20'000;
       options.idle_timeout_ms *= 2) {
    hang = {options.idle_timeout_ms, ErrorOf(RunOn(command, nullptr, options))};
    if (hang.error.find(text) != std::string::npos) break;
  }
  return hang;
}

TEST(PipeCommandTest, HangingCommandIsEndedAfterTheIdleTime) {
  TempDir dir;
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  // The fifo never gets a writer.
  const std::string command = "echo before >&2; cat " + fifo;
  const Hang hang = RunHanging(command, ":\nbefore");
  EXPECT_EQ(hang.error,
            fmt::format("the file: command `{}` wrote nothing for {} ms; its standard error ends "
                        "with:\nbefore",
                        command, hang.idle_ms));
  EXPECT_TRUE(NoChildren());
}

TEST(PipeCommandTest, ClosedOutputIsNoEndWhileTheCommandRuns) {
  TempDir dir;
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const Hang hang = RunHanging("exec >/dev/null; cat " + fifo, "closed its output");
  EXPECT_THAT(hang.error, HasSubstr(fmt::format("closed its output and did not end within {} ms",
                                                hang.idle_ms)));
}

TEST(PipeCommandTest, FloodOfStandardErrorIsNoOutputAndOnlyItsTailIsKept) {
  const Hang hang = RunHanging("yes complaint >&2", "complaint\n", {.stderr_tail_bytes = 20});
  EXPECT_THAT(hang.error, HasSubstr(fmt::format("wrote nothing for {} ms", hang.idle_ms)));
  EXPECT_THAT(hang.error, HasSubstr("complaint\n"));
  EXPECT_LT(hang.error.size(), 200u);
}

TEST(PipeCommandTest, MuchStandardErrorDoesNotBlockTheOutput) {
  StatusOr<std::string> text =
      RunOn("head -c 3000000 /dev/zero >&2; echo done", nullptr, {.idle_timeout_ms = 20'000});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "done\n");
}

TEST(PipeCommandTest, EndlessOutputWaitsForTheReaderAndEndsWithIt) {
  StatusOr<std::unique_ptr<PipeCommand>> pipe = PipeCommand::Start("yes | cat", "f", nullptr, {});
  ASSERT_TRUE(pipe.ok());
  std::vector<char> buffer(100'000);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE((*pipe)->Read(buffer).ok());
  pipe->reset();
  EXPECT_TRUE(NoChildren());
}

TEST(PipeCommandTest, WhatTheCommandLeavesRunningIsKilled) {
  TempDir dir;
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  StatusOr<std::string> text = RunOn("cat " + fifo + " >/dev/null 2>&1 & echo $!", nullptr);
  ASSERT_TRUE(text.ok()) << text.status();
  const pid_t left = std::stoi(*text);
  // Killed, though perhaps not yet reaped by its new parent: then it is a zombie ('Z').
  std::string state = "none";
  for (int i = 0; i < 1'000'000 && kill(left, 0) == 0; ++i) {
    std::ifstream stat(fmt::format("/proc/{}/stat", left));
    std::string ignored;
    stat >> ignored >> ignored >> state;
    if (state == "Z" || state == "X") break;
  }
  EXPECT_TRUE(kill(left, 0) != 0 || state == "Z" || state == "X") << state;
}

TEST(PipeCommandTest, ChildInheritsOnlyTheStandardDescriptorsAndTheGuard) {
  TempDir dir;
  const int leaky = open(dir.Write("a", "x").c_str(), O_RDONLY);  // without O_CLOEXEC
  StatusOr<std::string> text = RunOn("ls /proc/self/fd | tr '\\n' ' '", nullptr);
  close(leaky);
  ASSERT_TRUE(text.ok()) << text.status();
  // 3 is the directory that ls itself reads, 100 the guard.
  EXPECT_EQ(*text, "0 1 100 2 3 ");
}

TEST(PipeCommandTest, ErrorOfTheInputIsTheErrorOfTheStream) {
  EXPECT_EQ(ErrorOf(RunOn("cat", std::make_unique<MemoryStream>(
                                     "some text", InvalidArgument("a.gz: truncated gzip stream")))),
            "a.gz: truncated gzip stream");
  EXPECT_TRUE(NoChildren());
}

TEST(PipeCommandTest, InputFileThatChangesMeanwhileIsAnError) {
  TempDir dir;
  const std::string path = dir.Write("a", "one\n");
  StatusOr<std::unique_ptr<RawFile>> file = RawFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(ErrorOf(RunOn("cat; echo more >> " + path, *std::move(file))),
              StartsWith(path + ": changed while it was read"));
}

TEST(PipeCommandTest, CommandsFeedCommands) {
  StatusOr<std::unique_ptr<PipeCommand>> first =
      PipeCommand::Start("echo a b; exit 4", "remote", nullptr, {});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(ErrorOf(RunOn("cat", *std::move(first))),
            "remote: command `echo a b; exit 4` exited with code 4; its standard error is empty");
}

TEST(PipeCommandTest, ManyThreadsRunCommandsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        StatusOr<std::string> text =
            RunOn(fmt::format("cat; echo {} {}", t, i), std::make_unique<MemoryStream>("in "));
        right[t] += text.ok() && *text == fmt::format("in {} {}\n", t, i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, ::testing::Each(10));
  EXPECT_TRUE(NoChildren());
}

TEST(PipeCommandTest, ShellQuotedIsOneWordWhateverItHolds) {
  const std::string word = "it's $HOME \"a\" `b` \\ *\n;";
  StatusOr<std::string> text = RunOn("printf %s " + ShellQuoted(word), nullptr);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, word);
}

// Interrupts the read as a signal would, once the command has reported that it runs.
TEST(PipeCommandTest, AnInterruptEndsTheWaitForASilentCommand) {
  Interrupt interrupt;
  auto pipe =
      PipeCommand::Start("echo ready; sleep 1000", "the file", nullptr, {.interrupt = &interrupt});
  ASSERT_TRUE(pipe.ok());
  std::vector<char> buffer(100);
  ASSERT_EQ((*pipe)->Read(buffer).value(), 6u);
  std::thread raiser([&] { interrupt.Raise(absl::UnavailableError("server 0 is gone")); });
  // Returned unchanged: the command did not fail.
  EXPECT_EQ((*pipe)->Read(buffer).status(), absl::UnavailableError("server 0 is gone"));
  raiser.join();
  EXPECT_TRUE(NoChildren());
}

TEST(PipeCommandTest, AnInterruptEndsTheWaitForTheEndOfACommand) {
  Interrupt interrupt;
  std::thread raiser;
  auto pipe =
      PipeCommand::Start("exec >&-; sleep 1000", "the file", nullptr, {.interrupt = &interrupt});
  ASSERT_TRUE(pipe.ok());
  raiser = std::thread([&] { interrupt.RaiseSignal(SIGTERM); });
  std::vector<char> buffer(100);
  EXPECT_TRUE(absl::IsCancelled((*pipe)->Read(buffer).status()));
  raiser.join();
  EXPECT_TRUE(NoChildren());
}

// All processes of the command end when a process with many threads is killed without a chance to
// clean up. The thread that started the command has ended before, which must not matter.
TEST(PipeCommandTest, TheCommandDiesWithAProcessThatIsKilled) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  // Orphans of the killed process become children of this one, which can wait for them.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t trainer = fork();
  ASSERT_GE(trainer, 0);
  if (trainer == 0) {
    std::unique_ptr<PipeCommand> command;
    std::thread([&] {
      command =
          PipeCommand::Start("sleep 1000 | sleep 1001 & echo $$; wait", "the file", nullptr, {})
              .value();
    }).join();
    char buffer[32];
    const size_t got = command->Read(buffer).value();
    if (write(told[1], buffer, got) < 0) _exit(1);
    pause();
  }
  close(told[1]);
  char buffer[32] = {};
  ASSERT_GT(read(told[0], buffer, sizeof(buffer) - 1), 0);
  close(told[0]);
  const pid_t group = std::stoi(buffer);
  EXPECT_EQ(kill(-group, 0), 0);  // the thread has ended, the command lives
  kill(trainer, SIGKILL);
  waitpid(trainer, nullptr, 0);
  int ended = 0, status = 0;
  while (waitpid(-group, &status, 0) > 0) {
    ++ended;
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }
  EXPECT_EQ(ended, 3);  // the shell and both sides of its pipe
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace flotilla
