#include "flotilla/trainer/skipgram_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/trainer/word_vectors_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

ModelSpec SpecFor(size_t words, bool bias, double rate = 0.05) {
  ModelSpec spec;
  spec.optimizer = {.name = "sgd", .learning_rate = ConstantRate(rate)};
  spec.seed = 5;
  const auto rows = static_cast<int64_t>(words);
  spec.tables.push_back({.name = kInputTable, .dim = kVectorDim, .rows = rows});
  spec.tables.back().attributes.init = Uniform(-0.5 / kVectorDim, 0.5 / kVectorDim);
  spec.tables.push_back({.name = kOutputTable, .dim = kVectorDim, .rows = rows});
  if (bias) spec.tables.push_back({.name = kBiasTable, .dim = 1, .rows = rows});
  return spec;
}

// Words of two kinds that never meet.
std::string LettersOfTwoTopics(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    for (uint64_t k = 0; k < 8; ++k) {
      const uint64_t word = RngKey(4).With(static_cast<uint64_t>(i)).Below(k, 5);
      text += static_cast<char>((i % 2 == 0 ? 'a' : 'p') + word);
      text += k == 7 ? '\n' : ' ';
    }
  }
  return text;
}

// Everything that a run needs.
struct TrainingSetup {
  TempDir dir;
  Vocabulary vocabulary;
  std::unique_ptr<WindowSampler> sampler;
  std::unique_ptr<IdCorpus> corpus;
  std::unique_ptr<LocalCommunicator> local;
  SteadyClock clock;

  explicit TrainingSetup(bool bias = false, LocalOptions local_options = {}, int lines = 200,
                         WindowOptions windows = {.window = 2, .negatives = 3, .sample = 0.02}) {
    std::vector<WordCount> words;
    for (const char* letters : {"abcde", "pqrst"}) {
      for (const char* c = letters; *c != 0; ++c) words.push_back({std::string(1, *c), 800});
    }
    vocabulary = *Vocabulary::FromWords(words);
    sampler = std::make_unique<WindowSampler>(*WindowSampler::Make(vocabulary, windows));
    IdCorpusOptions options;
    options.blocks.block_bytes = 400;
    corpus = *LoadIdCorpus({dir.Write("text", LettersOfTwoTopics(lines))}, vocabulary, options);
    local_options.tables.in_order = true;
    local = *LocalCommunicator::Make(SpecFor(vocabulary.size(), bias), local_options);
  }

  std::unique_ptr<SkipgramTrainer> Trainer(SkipgramOptions options = {}) {
    auto trainer = SkipgramTrainer::Make(local.get(), sampler.get(), &clock, std::move(options));
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return *std::move(trainer);
  }
  std::vector<float> Values(const char* table) const {
    const auto tensor = local->ReadParameter(table);
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    return {tensor->data.begin(), tensor->data.end()};
  }
};

// One worker's epoch in plain loops on doubles.
struct Twin {
  std::vector<double> x, w, b;  // b empty: no bias
  double rate = 0.05;

  void Window(const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs) {
    std::vector<double> dw(w.size()), db(b.size());
    std::vector<std::vector<double>> errors;
    for (const uint32_t in : inputs) {
      errors.emplace_back();
      for (size_t n = 0; n < outputs.size(); ++n) {
        double logit = b.empty() ? 0 : b[outputs[n]];
        for (int64_t i = 0; i < kVectorDim; ++i)
          logit += x[in * kVectorDim + i] * w[outputs[n] * kVectorDim + i];
        errors.back().push_back(rate * ((n == 0 ? 1 : 0) - 1 / (1 + std::exp(-logit))));
      }
    }
    for (size_t r = 0; r < inputs.size(); ++r) {
      std::vector<double> dx(kVectorDim);
      for (size_t n = 0; n < outputs.size(); ++n) {
        for (int64_t i = 0; i < kVectorDim; ++i) {
          dw[outputs[n] * kVectorDim + i] += errors[r][n] * x[inputs[r] * kVectorDim + i];
          dx[i] += errors[r][n] * w[outputs[n] * kVectorDim + i];
        }
        if (!b.empty()) db[outputs[n]] += errors[r][n];
      }
      for (int64_t i = 0; i < kVectorDim; ++i) x[inputs[r] * kVectorDim + i] += dx[i];
    }
    for (size_t i = 0; i < w.size(); ++i) w[i] += dw[i];
    for (size_t i = 0; i < b.size(); ++i) b[i] += db[i];
  }

  void Epoch(const WindowSampler& sampler, IdCorpus& corpus, int64_t epoch) {
    IdBatch batch;
    KeptWords kept;
    ASSERT_TRUE(corpus.StartEpoch().ok());
    while (*corpus.Next(&batch)) {
      sampler.Keep(epoch, batch, &kept);
      for (size_t word = 0; word < kept.size(); ++word) {
        const auto window = sampler.WindowOf(kept, word);
        std::vector<uint32_t> inputs, outputs(1 + sampler.negatives());
        for (size_t i = window.first; i < window.last; ++i) {
          if (i != word) inputs.push_back(kept.ids[i]);
        }
        outputs[0] = kept.ids[word];
        sampler.NegativesOf(kept, word, outputs.data() + 1);
        Window(inputs, outputs);
      }
    }
  }
};

TEST(SkipgramTrainerTest, AnEpochOfOneWorkerEqualsPlainLoops) {
  for (const bool bias : {false, true}) {
    TrainingSetup setup(bias);
    ASSERT_TRUE(setup.local->tables_in_place()->Begin(0).ok());  // makes the rows
    const auto doubles = [&](const char* table) {
      const std::vector<float> values = setup.Values(table);
      return std::vector<double>(values.begin(), values.end());
    };
    Twin twin{.x = doubles(kInputTable), .w = doubles(kOutputTable)};
    if (bias) twin.b = doubles(kBiasTable);
    auto trainer = setup.Trainer();
    for (int64_t epoch = 0; epoch < 2; ++epoch) {
      const auto report = trainer->TrainEpoch(*setup.corpus, epoch);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(report->rows, 1600);
      EXPECT_LT(report->trained, 1500);
      EXPECT_GT(report->trained, 500);
      twin.Epoch(*setup.sampler, *setup.corpus, epoch);
    }
    const auto near = [](const std::vector<float>& actual, const std::vector<double>& expected) {
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 2e-4) << i;
    };
    near(setup.Values(kInputTable), twin.x);
    near(setup.Values(kOutputTable), twin.w);
    if (bias) near(setup.Values(kBiasTable), twin.b);
  }
}

TEST(SkipgramTrainerTest, JoinedTrainingGivesTheSameBitsForAnyWorkers) {
  const auto train = [](int workers) {
    TrainingSetup setup(true, {.joined = true});
    auto trainer = setup.Trainer({.workers = workers});
    EXPECT_TRUE(trainer->TrainEpoch(*setup.corpus, 0).ok());
    return setup.Values(kInputTable);
  };
  const std::vector<float> one = train(1);
  EXPECT_EQ(train(3), one);
}

TEST(SkipgramTrainerTest, WordsOfOneTopicComeTogetherAndTheLossFalls) {
  using kernels::CbowRule;
  for (const auto& cbow : {std::optional<CbowRule>(), std::optional(CbowRule::kGradient),
                           std::optional(CbowRule::kMean)}) {
    TrainingSetup setup(false, {}, 1000, {.window = 3, .negatives = 3, .sample = 0});
    auto trainer = setup.Trainer({.workers = 2, .cbow = cbow});
    double first = 0, last = 0;
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      const auto report = trainer->TrainEpoch(*setup.corpus, epoch);
      ASSERT_TRUE(report.ok());
      (epoch == 0 ? first : last) = report->loss;
    }
    EXPECT_LT(last, first);
    const std::vector<float> values = setup.Values(kInputTable);
    for (size_t word = 1; word < 5; ++word) {
      // With kMean all words grow in the same direction, too.
      const double gap = cbow == CbowRule::kMean ? 0.2 : 0.5;
      EXPECT_GT(Cosine(values, 0, word), Cosine(values, 0, word + 5) + gap) << word;
    }
  }
}

TEST(SkipgramTrainerTest, EveryBatchIsAStepOfTheSchedule) {
  TrainingSetup setup;
  std::vector<double> rates;
  ModelSpec spec = SpecFor(setup.vocabulary.size(), false);
  const int64_t batches = setup.corpus->batches();
  spec.optimizer.learning_rate = PolynomialDecay(0.1, batches, 0);
  setup.local = *LocalCommunicator::Make(spec, {.tables = {.in_order = true}});
  int64_t words = 0;
  auto trainer = setup.Trainer({.on_progress = [&](const Progress& progress) {
    rates.push_back(progress.learning_rate);
    EXPECT_GT(progress.rows, words);
    words = progress.rows;
  }});
  ASSERT_TRUE(trainer->TrainEpoch(*setup.corpus, 0).ok());
  ASSERT_EQ(rates.size(), static_cast<size_t>(batches));
  EXPECT_EQ(words, 1600);
  for (int64_t i = 0; i < batches; ++i) {
    EXPECT_NEAR(rates[i], 0.1 * static_cast<double>(batches - i) / batches, 1e-9);
  }
}

TEST(SkipgramTrainerTest, StopsBetweenBatchesWhenAsked) {
  TrainingSetup setup;
  int asked = 0;
  auto trainer = setup.Trainer({.stop = [&] { return ++asked > 3; }});
  const auto report = trainer->TrainEpoch(*setup.corpus, 0);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->stopped);
  EXPECT_EQ(report->batches, 4);
}

TEST(SkipgramTrainerTest, WhatDoesNotFitIsAnError) {
  TrainingSetup setup;
  const auto error = [&](const ModelSpec& spec) {
    setup.local = *LocalCommunicator::Make(spec, {.tables = {.in_order = true}});
    return std::string(Message(
        SkipgramTrainer::Make(setup.local.get(), setup.sampler.get(), &setup.clock, {}).status()));
  };
  EXPECT_EQ(error(SpecFor(11, false)),
            "table emb: 11 rows of dim 8, the vocabulary needs 10 of dim 8");
  ModelSpec missing = SpecFor(10, false);
  missing.tables.pop_back();
  EXPECT_EQ(error(missing), "skip-gram needs the tables emb and emb_w");
  ModelSpec factor = SpecFor(10, false);
  factor.tables[1].attributes.learning_rate_factor = 0.5;
  EXPECT_EQ(error(factor), "table emb_w: skip-gram trains all tables at one rate");
  ModelSpec adam = SpecFor(10, false);
  adam.optimizer.name = "adam";
  EXPECT_THAT(error(adam), HasSubstr("the optimizer must be sgd, not adam"));
}

TEST(SkipgramTrainerTest, ATrainerWithoutTextHasAnEmptyEpoch) {
  TrainingSetup empty(false, {}, 0);
  const auto report = empty.Trainer()->TrainEpoch(*empty.corpus, 0);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->rows, 0);
}

}  // namespace
}  // namespace flotilla
