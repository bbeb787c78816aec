#include "flotilla/infer/prediction_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/worker_pool.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(PredictionFileTest, BatchesStandInTheOrderOfTheirOrdinals) {
  const TempDir dir;
  const std::string path = dir.path() + "/scores";
  auto file = *PredictionFile::Make(path, {.workers = 2});
  const std::vector<float> a = {1, 2}, b = {3}, c = {4, 5};
  ASSERT_TRUE(file->Add(1, 3, b).ok());
  ASSERT_TRUE(file->Add(0, 0, a).ok());
  ASSERT_TRUE(file->Add(1, 10, c).ok());
  file->Leave(0);
  file->Leave(1);
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_THAT(Lines(path), ::testing::ElementsAre("1", "2", "3", "4", "5"));
}

TEST(PredictionFileTest, EveryFloatReadsBackAsItself) {
  const TempDir dir;
  const std::string path = dir.path() + "/scores";
  std::vector<float> scores = {0, 1, 0.1f, 1e-30f, 1.17549435e-38f, 0.333333343f};
  for (uint64_t i = 0; i < 1000; ++i) scores.push_back(RngKey(1).Uniform(i));
  auto file = *PredictionFile::Make(path, {});
  ASSERT_TRUE(file->Add(0, 0, scores).ok());
  file->Leave(0);
  ASSERT_TRUE(file->Finish().ok());
  const std::vector<std::string> lines = Lines(path);
  ASSERT_EQ(lines.size(), scores.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(std::strtof(lines[i].c_str(), nullptr), scores[i]) << lines[i];
  }
}

TEST(PredictionFileTest, SeveralScoresOfARowHaveNamesInAHeader) {
  std::ostringstream stream;
  auto file = PredictionFile::ToStream(&stream, {.scores = {"a", "b\tb", "c"}, .columns = {"id"}});
  const std::vector<float> scores = {0.5f, 0.25f, 0.25f, 0, 0, 1};
  const std::vector<std::string> texts = {"x", "y"};
  ASSERT_TRUE(file->Add(0, 0, scores, texts).ok());
  file->Leave(0);
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(stream.str(), "a\tb b\tc\tid\n0.5\t0.25\t0.25\tx\n0\t0\t1\ty\n");
}

// A window of one batch, and a worker that is far behind: the others must wait for it, and none
// forever.
TEST(PredictionFileTest, WorkersWaitForTheSlowestAndNeverForEver) {
  const TempDir dir;
  const std::string path = dir.path() + "/scores";
  constexpr int kWorkers = 4;
  constexpr int64_t kBatches = 2000;
  auto file = *PredictionFile::Make(path, {.workers = kWorkers, .window = 1});
  std::atomic<int64_t> next = 0;
  WorkerPool workers(kWorkers);
  workers.Run([&](int w) {
    while (true) {
      const int64_t ordinal = next++;
      if (ordinal >= kBatches || (w == 3 && ordinal > kBatches / 2)) break;
      const std::vector<float> scores(1 + ordinal % 3, static_cast<float>(ordinal));
      EXPECT_TRUE(file->Add(w, 2 * ordinal, scores).ok());
      if (w == 0) std::this_thread::yield();
    }
    file->Leave(w);
  });
  ASSERT_TRUE(file->Finish().ok());
  float last = -1;
  size_t rows = 0;
  for (const std::string& line : Lines(path)) {
    const float score = std::strtof(line.c_str(), nullptr);
    EXPECT_GE(score, last);
    last = score;
    ++rows;
  }
  EXPECT_GE(rows, static_cast<size_t>(kBatches));
}

TEST(PredictionFileTest, AWorkerAheadGoesOnWhenTheLastOneLeaves) {
  const TempDir dir;
  auto file = *PredictionFile::Make(dir.path() + "/scores", {.workers = 2, .window = 1});
  const std::vector<float> scores = {1};
  ASSERT_TRUE(file->Add(0, 5, scores).ok());
  std::thread ahead([&] { EXPECT_TRUE(file->Add(0, 6, scores).ok()); });
  file->Leave(1);
  ahead.join();
  file->Leave(0);
  EXPECT_TRUE(file->Finish().ok());
}

TEST(PredictionFileTest, WithoutFinishTheOldFileStays) {
  const TempDir dir;
  const std::string path = dir.Write("scores", "old\n");
  {
    auto file = *PredictionFile::Make(path, {});
    const std::vector<float> scores = {1, 2};
    ASSERT_TRUE(file->Add(0, 0, scores).ok());
    file->Leave(0);
    EXPECT_THAT(Lines(path), ::testing::ElementsAre("old"));
  }
  EXPECT_THAT(Lines(path), ::testing::ElementsAre("old"));
}

TEST(PredictionFileTest, AStreamGetsTheSameLines) {
  std::ostringstream stream;
  auto file = PredictionFile::ToStream(&stream, {});
  const std::vector<float> scores = {1, 0.5f};
  ASSERT_TRUE(file->Add(0, 0, scores).ok());
  file->Leave(0);
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(stream.str(), "1\n0.5\n");
}

TEST(PredictionFileTest, ColumnsStandBesideTheirScoresUnderAHeader) {
  std::ostringstream stream;
  auto file = PredictionFile::ToStream(&stream, {.workers = 2, .columns = {"id", "city"}});
  const std::vector<float> scores = {1, 0.5f}, first = {0.25f};
  const std::vector<std::string> texts = {"a\tRome", "\t"}, first_text = {"b\tOslo"};
  ASSERT_TRUE(file->Add(1, 1, scores, texts).ok());
  ASSERT_TRUE(file->Add(0, 0, first, first_text).ok());
  file->Leave(0);
  file->Leave(1);
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(stream.str(), "score\tid\tcity\n0.25\tb\tOslo\n1\ta\tRome\n0.5\t\t\n");
}

TEST(PredictionFileTest, ErrorsOfTheDiskNameTheFile) {
  EXPECT_THAT(std::string(Message(PredictionFile::Make("/no/such/dir/f", {}).status())),
              HasSubstr("/no/such/dir/f: cannot be written: No such file"));
  if (std::ifstream("/dev/full")) {
    auto file = *PredictionFile::Make("/dev/full", {});
    const std::vector<float> scores(100000, 0.5f);
    Status status = file->Add(0, 0, scores);
    file->Leave(0);
    if (status.ok()) status = file->Finish();
    EXPECT_THAT(std::string(Message(status)), HasSubstr("/dev/full: "));
    EXPECT_THAT(std::string(Message(status)), HasSubstr("No space left"));
  }
}

}  // namespace
}  // namespace flotilla
