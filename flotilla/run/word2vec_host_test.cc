// A run of word2vec inside a program that has the words, the text and the vectors.
#include "flotilla/run/word2vec_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/infer/word_vectors.h"
#include "flotilla/run/run.h"
#include "flotilla/run/word2vec_task.h"

namespace flotilla {
namespace {

constexpr int64_t kDim = 8;
constexpr size_t kWords = 20;

std::string WordOf(size_t id) { return "w" + std::string(1, static_cast<char>('a' + id)); }

class Word2VecHostTest : public ::testing::Test {
 protected:
  Word2VecHostTest() {
    options_.dim = kDim;
    options_.epochs = 2;
    options_.seed = 3;
    options_.windows.sample = 0;
    options_.tokenizer = TokenizerKind::kWhitespace;
    options_.deterministic = options_.fleet.job.mode.local.joined = true;
    std::vector<uint64_t> counts(kWords);
    for (uint64_t i = 0; i < 300; ++i) {
      for (uint64_t k = 0; k < 6; ++k) {
        // The first words are more frequent than the last, so that ids do not depend on ties.
        const uint64_t id = RngKey(1).Below(10 * i + k, RngKey(2).Below(10 * i + k, kWords) + 1);
        ids_.push_back(static_cast<uint32_t>(id));
        text_ += WordOf(id) + (k == 5 ? "\n" : " ");
        ++counts[id];
      }
      ids_.push_back(kSentenceEnd);
    }
    for (size_t id = 0; id < kWords; ++id) host_.words.push_back({WordOf(id), counts[id]});
    input_.resize(kWords * kDim);
    output_.resize(kWords * kDim);
    EXPECT_TRUE(InitialWordVectors(options_.seed, kDim, options_.start_range, 0, input_).ok());
    host_.ids = ids_;
    host_.input = input_;
    host_.output = output_;
  }

  StatusOr<RunResult> Run(const Word2VecHost* host) {
    std::ostringstream out, err;
    Console console(err, &clock_);
    Terminal terminal{.out = out, .console = console, .log = console.log(), .clock = clock_};
    Word2VecTask task(&options_, host);
    run_host_.stop = &stop_;
    return RunTraining(options_, task, terminal, run_host_);
  }

  const SteadyClock clock_;
  StopRequest stop_;
  RunHost run_host_;
  Word2VecRunOptions options_;
  std::vector<uint32_t> ids_;
  std::string text_;
  std::vector<float> input_, output_;
  Word2VecHost host_;
};

TEST_F(Word2VecHostTest, GivenIdsAndFilesTrainToTheBitsOfTheCommand) {
  const TempDir dir;
  auto result = Run(&host_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->examples, 2 * 1800);
  const std::vector<float> from_ids = input_;

  options_.files = {dir.Write("text", text_)};
  ASSERT_TRUE(InitialWordVectors(options_.seed, kDim, options_.start_range, 0, input_).ok());
  output_.assign(output_.size(), 0);
  host_.ids = {};
  result = Run(&host_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(input_, from_ids) << "the text is one batch either way";

  options_.dict = dir.Write("dict", [&] {
    std::string lines;
    for (const WordCount& word : host_.words)
      lines += fmt::format("{} {}\n", word.word, word.count);
    return lines;
  }());
  options_.vectors = dir.path() + "/vectors";
  result = Run(nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto vectors = LoadVectors(options_.vectors);
  ASSERT_TRUE(vectors.ok()) << vectors.status();
  EXPECT_EQ(std::vector<float>(vectors->values.begin(), vectors->values.end()), from_ids);
}

TEST_F(Word2VecHostTest, VectorsAreThereAtTheEndOfEachEpochAndTheNextRunGoesOnFromThem) {
  std::vector<std::vector<float>> after;
  run_host_.on_epoch = [&](int64_t, const Report&, const Report*) {
    after.push_back(input_);
    return false;
  };
  options_.schedule = Word2VecRunOptions::Schedule::kConstant;
  ASSERT_TRUE(Run(&host_).ok());
  ASSERT_EQ(after.size(), 2u);
  EXPECT_NE(after[0], after[1]);
  EXPECT_EQ(after[1], input_);

  ASSERT_TRUE(InitialWordVectors(options_.seed, kDim, options_.start_range, 0, input_).ok());
  output_.assign(output_.size(), 0);
  options_.epochs = 1;
  ASSERT_TRUE(Run(&host_).ok());
  EXPECT_EQ(input_, after[0]);
  host_.earlier_epochs = 1;
  ASSERT_TRUE(Run(&host_).ok());
  EXPECT_EQ(input_, after[1]) << "two runs of one epoch are one run of two";
}

TEST_F(Word2VecHostTest, AStoppedRunLeavesWhatItHasLearned) {
  const std::vector<float> before = input_;
  host_.batch_words = 100;
  run_host_.on_progress = [&](const Progress& progress) {
    if (progress.batches == 3) stop_.Make();
  };
  const auto result = Run(&host_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->stopped);
  EXPECT_LT(result->examples, 1800);
  EXPECT_NE(input_, before);
}

TEST_F(Word2VecHostTest, VectorsOfAnotherSizeAreAnError) {
  host_.output = host_.output.first(10);
  EXPECT_THAT(Run(&host_).status().message(),
              ::testing::HasSubstr("160 and 10 numbers for 20 vectors of dim 8"));
}

TEST_F(Word2VecHostTest, InitialVectorsOfLaterWordsAreThoseOfTheWholeTable) {
  std::vector<float> tail(5 * kDim);
  const double range = options_.start_range;
  ASSERT_TRUE(InitialWordVectors(options_.seed, kDim, range, kWords - 5, tail).ok());
  EXPECT_EQ(tail, std::vector<float>(input_.end() - 5 * kDim, input_.end()));
  std::vector<float> wider(tail.size());
  ASSERT_TRUE(InitialWordVectors(options_.seed, kDim, 2 * range, kWords - 5, wider).ok());
  for (size_t i = 0; i < tail.size(); ++i) EXPECT_EQ(wider[i], 2 * tail[i]);
}

}  // namespace
}  // namespace flotilla
