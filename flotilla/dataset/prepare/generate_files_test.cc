#include "flotilla/dataset/prepare/generate_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "flotilla/base/mutex.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GenerateFilesTest : public ::testing::Test {
 protected:
  static GenerateOptions Options(const std::string& command, int threads = 1) {
    GenerateOptions options{.threads = threads};
    options.source.pipe_command = command;
    return options;
  }
  std::string ErrorOf(const GenerateOptions& options) const {
    const auto result = GenerateFiles(files_, out_, options);
    EXPECT_FALSE(result.ok());
    EXPECT_TRUE(!fs::exists(out_) || fs::is_empty(out_));  // nothing is left of a failed run
    return std::string(Message(result.status()));
  }

  const TempDir dir_;
  const std::vector<std::string> files_ = {dir_.Write("a", "1\n2\n"), dir_.Write("b", "3\n4\n5")};
  const std::string out_ = dir_.path() + "/out";
};

TEST_F(GenerateFilesTest, EveryFileBecomesAPart) {
  for (const int threads : {1, 2}) {
    std::atomic<int64_t> lines = 0;
    GenerateOptions options = Options("sed 's/^/1 /'", threads);
    options.on_lines = [&](int64_t more) { lines += more; };
    const std::string out = fmt::format("{}{}", out_, threads);
    const auto result = GenerateFiles(files_, out, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, (Generated{.files = 2, .lines = 5, .bytes = 20}));
    EXPECT_EQ(lines, 5);
    EXPECT_EQ(*ReadWholeFile(out + "/part-000000", 99), "1 1\n1 2\n");
    EXPECT_EQ(*ReadWholeFile(out + "/part-000001", 99), "1 3\n1 4\n1 5\n");  // with its line end
  }
}

TEST_F(GenerateFilesTest, StreamHasTheFilesInTheirOrder) {
  std::string all;
  auto append = [&](std::string_view text) {
    all += text;
    return absl::OkStatus();
  };
  const auto result = GenerateStream(files_, append, Options("sed 's/^/1 /'", 2));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(all, "1 1\n1 2\n1 3\n1 4\n1 5\n");
  auto refuse = [](std::string_view) { return FailedPrecondition("full"); };
  EXPECT_EQ(Message(GenerateStream(files_, refuse, Options("cat")).status()), "full");
}

TEST_F(GenerateFilesTest, FailingGeneratorsAreErrorsWithFileCommandAndStandardError) {
  const std::string exits = ErrorOf(Options("cat; echo broken >&2; exit 3"));
  EXPECT_THAT(exits, HasSubstr(files_[0] + ": command `cat; echo broken >&2; exit 3` exited with"));
  EXPECT_THAT(exits, HasSubstr("code 3"));
  EXPECT_THAT(exits, HasSubstr("broken"));
  EXPECT_THAT(ErrorOf(Options("kill -9 $$", 2)), HasSubstr("was killed by signal 9"));
  GenerateOptions hangs = Options("cat; sleep 600");
  hangs.source.idle_timeout_ms = 100;
  EXPECT_THAT(ErrorOf(hangs), HasSubstr("wrote nothing for 100 ms"));
}

TEST_F(GenerateFilesTest, GeneratorThatWritesNothingIsToldAndForAllFilesAnError) {
  Mutex mutex;
  std::vector<std::string> told;
  GenerateOptions options = Options("grep 4 || true");
  options.log = [&](std::string_view line) {
    MutexLock lock(mutex);
    told.emplace_back(line);
  };
  const auto result = GenerateFiles(files_, out_ + "1", options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(told, ElementsAre(files_[0] + ": command `grep 4 || true` wrote nothing"));
  EXPECT_EQ(ErrorOf(Options("true")), "command `true` wrote nothing for any of 2 file(s)");
}

TEST_F(GenerateFilesTest, UsedDirectoryIsRefused) {
  EXPECT_THAT(Message(GenerateFiles(files_, dir_.path(), Options("cat")).status()),
              HasSubstr("already has files"));
}

}  // namespace
}  // namespace flotilla
