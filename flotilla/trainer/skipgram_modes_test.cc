// Word vectors trained by the trainers of one job, each on its share of a text, in every mode: the
// whole path from text to servers, in one process.
#include <gtest/gtest.h>

#include <string>

#include "flotilla/base/mutex.h"
#include "flotilla/base/rng.h"
#include "flotilla/communicator/mode.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/testing/cluster_testing.h"
#include "flotilla/trainer/skipgram_trainer.h"
#include "flotilla/trainer/word_vectors_testing.h"

namespace flotilla {
namespace {

constexpr size_t kTopic = 30;  // words of each of two topics, which never meet

ModelSpec Spec(bool bias) {
  ModelSpec spec;
  spec.optimizer = {.name = "sgd", .learning_rate = ConstantRate(1)};
  spec.seed = 5;
  for (const char* name : {kInputTable, kOutputTable, kBiasTable}) {
    const bool is_bias = name == std::string(kBiasTable);
    if (is_bias && !bias) continue;
    const int64_t dim = is_bias ? 1 : kVectorDim;
    spec.tables.push_back({.name = name, .dim = dim, .rows = 2 * kTopic});
  }
  spec.tables[0].attributes.init = Uniform(-0.5 / kVectorDim, 0.5 / kVectorDim);
  return spec;
}

std::string Word(size_t topic, size_t word) {
  return {topic == 0 ? 'a' : 'b', static_cast<char>('a' + word / 26),
          static_cast<char>('a' + word % 26)};
}

Vocabulary Words() {
  std::vector<WordCount> words;
  for (size_t id = 0; id < 2 * kTopic; ++id) words.push_back({Word(id / kTopic, id % kTopic), 800});
  return *Vocabulary::FromWords(words);
}

std::string TwoTopics(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    for (uint64_t k = 0; k < 8; ++k) {
      const uint64_t word = RngKey(4).With(static_cast<uint64_t>(i)).Below(k, kTopic);
      text += Word(i % 2, word) + (k == 7 ? "\n" : " ");
    }
  }
  return text;
}

struct SkipgramJob {
  ModeOptions mode;
  int servers = 1;
  int trainers = 1;
  int workers = 1;
  int epochs = 6;
  int lines = 600;
  double rate = 0.05;
  bool bias = true;
};

struct SkipgramOutcome {
  std::vector<float> vectors;
  double first_loss = 0, last_loss = 0;
  int64_t words = 0;  // of all trainers and epochs
  int64_t batches = 0;
  int64_t global_step = 0;
};

class SkipgramModesTest : public ::testing::Test {
 protected:
  // The epochs of one trainer.
  Status TrainPart(const SkipgramJob& job, int trainer, Communicator& communicator,
                   SkipgramOutcome* outcome) {
    IdCorpusOptions options{.part = trainer, .parts = job.trainers};
    options.blocks.block_bytes = 400;
    FL_ASSIGN_OR_RETURN(
        const auto corpus,
        LoadIdCorpus({dir_.Write(fmt::format("text{}", trainer), TwoTopics(job.lines))}, words_,
                     options));
    const auto sampler = *WindowSampler::Make(words_, {.window = 3, .negatives = 3, .sample = 0});
    SkipgramOptions skipgram{.workers = job.workers, .schedule = ConstantRate(job.rate)};
    if (job.mode.mode == "sync") skipgram.push_scale = job.trainers;
    FL_ASSIGN_OR_RETURN(const auto made,
                        SkipgramTrainer::Make(&communicator, &sampler, &clock_, skipgram));
    for (int64_t epoch = 0; epoch < job.epochs; ++epoch) {
      FL_ASSIGN_OR_RETURN(const Report report, made->TrainEpoch(*corpus, epoch));
      MutexLock lock(mutex_);
      outcome->words += report.rows;
      outcome->batches += report.batches;
      if (trainer == 0 && epoch == 0) outcome->first_loss = report.loss;
      if (trainer == 0) outcome->last_loss = report.loss;
    }
    return absl::OkStatus();
  }

  SkipgramOutcome Run(const SkipgramJob& job) {
    const UpdatePolicy policy = GetMode(job.mode.mode).policy;
    InProcessCluster cluster(Spec(job.bias),
                             {.servers = job.servers, .trainers = job.trainers, .policy = policy});
    SkipgramOutcome outcome;
    const Status status = cluster.RunTrainers([&](int trainer, PsClient& client) -> Status {
      ModeOptions mode = job.mode;
      mode.geo.tables.in_order = true;
      FL_ASSIGN_OR_RETURN(const auto communicator,
                          MakeCommunicator(client.spec(), mode, &client, &clock_));
      FL_RETURN_IF_ERROR(client.Barrier("made"));
      FL_RETURN_IF_ERROR(TrainPart(job, trainer, *communicator, &outcome));
      return client.Barrier("end");
    });
    EXPECT_TRUE(status.ok()) << status;
    const auto reader =
        *MakeCommunicator(Spec(job.bias), {.mode = "half-async"}, &cluster.client(0), &clock_);
    outcome.vectors = Vectors(*reader);
    outcome.global_step = cluster.server(0).service().global_step();
    const Status stopped = cluster.StopAll();
    EXPECT_TRUE(stopped.ok()) << stopped;
    return outcome;
  }

  SkipgramOutcome RunLocal(const SkipgramJob& job) {
    const auto local = *LocalCommunicator::Make(Spec(job.bias), {.tables = {.in_order = true}});
    SkipgramOutcome outcome;
    const Status status = TrainPart(job, 0, *local, &outcome);
    EXPECT_TRUE(status.ok()) << status;
    outcome.vectors = Vectors(*local);
    return outcome;
  }

  static std::vector<float> Vectors(Communicator& communicator) {
    const auto tensor = communicator.ReadParameter(kInputTable);
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    return {tensor->data.begin(), tensor->data.end()};
  }

 private:
  const TempDir dir_;
  const SteadyClock clock_{};
  const Vocabulary words_ = Words();
  Mutex mutex_;
};

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b, double bound) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], bound) << i;
}

TEST_F(SkipgramModesTest, EveryModeFindsTheTopicsOnJobsOfAnyShape) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    for (const int size : {1, 2}) {
      SCOPED_TRACE(fmt::format("{} {}x{}", mode, size, size));
      SkipgramJob job{.mode = {.mode = mode}, .servers = size, .trainers = size, .workers = size};
      job.mode.geo.interval.push_nums = 2;
      job.mode.async.max_staleness = 1;
      job.rate = 0.025;
      job.lines = 2000;
      job.bias = false;
      const SkipgramOutcome outcome = Run(job);
      EXPECT_EQ(outcome.words, 8 * job.lines * job.epochs) << "every word once an epoch";
      EXPECT_LT(outcome.last_loss, outcome.first_loss - 0.05);
      double same = 0, other = 0;
      for (size_t word = 1; word < kTopic; ++word) {
        same += Cosine(outcome.vectors, 0, word) / (kTopic - 1);
        other += Cosine(outcome.vectors, 0, word + kTopic) / (kTopic - 1);
      }
      EXPECT_GT(same, other + 0.3);
    }
  }
}

TEST_F(SkipgramModesTest, GeoWithOneTrainerAndOneWorkerEqualsLocal) {
  SkipgramJob job{.mode = {.mode = "geo"}, .servers = 2};
  job.mode.geo.interval.push_nums = 3;
  ExpectNear(Run(job).vectors, RunLocal(job).vectors, 1e-5);
}

TEST_F(SkipgramModesTest, ModesThatAreNeverBehindEqualLocalWithOneTrainer) {
  SkipgramJob job{.servers = 2};
  const std::vector<float> expected = RunLocal(job).vectors;
  for (const std::string mode : {"sync", "half-async", "async"}) {
    SCOPED_TRACE(mode);
    job.mode.mode = mode;
    job.mode.async.max_staleness = 0;
    // A push is a difference of rows, which loses their last bits.
    ExpectNear(Run(job).vectors, expected, 1e-4);
  }
}

TEST_F(SkipgramModesTest, SyncHasTheSameBitsForAnyNumberOfServers) {
  SkipgramJob job{.mode = {.mode = "sync"}, .trainers = 2, .workers = 2};
  const std::vector<float> expected = Run(job).vectors;
  job.servers = 3;
  EXPECT_EQ(Run(job).vectors, expected);
}

TEST_F(SkipgramModesTest, StepsAreBatchesOfAllTrainersAndInSyncTheirRounds) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    const SkipgramOutcome outcome = Run({.mode = {.mode = mode}, .trainers = 2, .epochs = 2});
    // Shares differ by one block at most.
    const int64_t rounds = (outcome.batches / 2 + 1) / 2 * 2;
    EXPECT_EQ(outcome.global_step, mode == "sync" ? rounds : outcome.batches);
  }
}

TEST_F(SkipgramModesTest, ATrainerWithoutTextWorksInEveryMode) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    // Three blocks for four trainers.
    const SkipgramOutcome outcome =
        Run({.mode = {.mode = mode}, .trainers = 4, .epochs = 2, .lines = 60});
    EXPECT_EQ(outcome.words, 8 * 60 * 2);
  }
}

}  // namespace
}  // namespace flotilla
