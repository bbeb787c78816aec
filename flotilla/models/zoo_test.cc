// The models of the zoo on planted rows: each learns the effect that it is made for, and refuses
// what it cannot do.
#include "flotilla/models/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "flotilla/base/clock.h"
#include "flotilla/base/rng.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Feature Category(const std::string& name) { return {.input = name, .vocabulary = name}; }

// A click with two categories.
Features TwoCategories() {
  return {.features = {Category("a"), Category("b")}, .labels = {{.input = "label"}}};
}

// Rows in the order of the inputs of a model: the features, the label, the weight.
struct PlantedRows {
  Features features;
  Batch batch;

  explicit PlantedRows(Features of) : features(std::move(of)) {
    batch.fields.resize(features.features.size() + 1 + (features.weight.empty() ? 0 : 1));
  }
  Field& field(size_t i) { return batch.fields[i]; }
  Field& label() { return batch.fields[features.features.size()]; }
  Field& weight() { return batch.fields.back(); }
};

void AppendBag(const std::vector<uint64_t>& ids, Field* field) {
  if (field->ids.offsets.empty()) field->ids.offsets.push_back(0);
  field->ids.ids.insert(field->ids.ids.end(), ids.begin(), ids.end());
  field->ids.offsets.push_back(static_cast<uint32_t>(field->ids.ids.size()));
}

struct Training {
  Config::Values flags = {};
  int64_t epochs = 5;
  int64_t batch_size = 50;
  bool cooldown = false;
};

// Trains a model and evaluates it.
Report TrainAndTest(const std::string& name, const PlantedRows& train, const PlantedRows& test,
                    const Training& training) {
  auto model = MakeZooModel(*FindZooModel(name), train.features, Config(training.flags));
  EXPECT_TRUE(model.ok()) << name << ": " << model.status();
  if (training.cooldown) {
    const int64_t steps = training.epochs * train.batch.rows / training.batch_size;
    ScheduleSpec& rate = model->optimizer.learning_rate;
    rate = LinearCooldown(rate, static_cast<int64_t>((1 - kCooldown) * steps), steps, kCooled);
  }
  EXPECT_TRUE(model->graph.status().ok()) << name << ": " << model->graph.status();
  const std::vector<InputSpec>& inputs = model->graph.def().inputs;
  const auto rows = InMemoryDataset::FromRows(
      inputs, train.batch,
      {.batch_size = training.batch_size, .shuffle_rows = kWholeEpoch, .seed = 1});
  const auto test_rows = InMemoryDataset::FromRows(inputs, test.batch, {.batch_size = 1000});
  EXPECT_TRUE(rows.ok() && test_rows.ok()) << rows.status() << test_rows.status();
  const auto communicator = LocalCommunicator::Make(SpecOf(*model, 3), {});
  const SteadyClock clock;
  const auto trainer = Trainer::Make(&*model, communicator->get(), &clock, {});
  EXPECT_TRUE(trainer.ok()) << name << ": " << trainer.status();
  const auto losses = (*trainer)->Fit(**rows, training.epochs);
  EXPECT_TRUE(losses.ok()) << name << ": " << losses.status();
  const auto report = (*trainer)->Evaluate(**test_rows);
  EXPECT_TRUE(report.ok()) << name << ": " << report.status();
  return *report;
}

// Every id has a sign, half of each; a click is a pair of equal signs. Neither category alone tells
// anything.
PlantedRows Pairs(uint64_t seed, int64_t rows) {
  PlantedRows planted(TwoCategories());
  const RngKey key(seed);
  for (int64_t r = 0; r < rows; ++r) {
    const uint64_t a = key.Below(2 * r, 20), b = key.Below(2 * r + 1, 20);
    planted.field(0).ids.ids.push_back(a);
    planted.field(1).ids.ids.push_back(100 + b);
    planted.label().values.push_back(a % 2 == b % 2 ? 1 : 0);
  }
  planted.batch.rows = rows;
  return planted;
}

TEST(ZooTest, ModelsOfPairsFindAnEffectThatALinearModelMisses) {
  const PlantedRows train = Pairs(1, 4000), test = Pairs(2, 1000);
  EXPECT_NEAR(TrainAndTest("lr", train, test, {}).Metric("auc"), 0.5, 0.05);
  for (const char* name : {"fm", "fwfm", "ffm", "wide_deep", "deepfm", "dcnv2"}) {
    EXPECT_GT(TrainAndTest(name, train, test, {.epochs = 8}).Metric("auc"), 0.95) << name;
  }
}

TEST(ZooTest, TheCrossesOfDcnv2StandBesideTheNetworkOrBelowIt) {
  const PlantedRows train = Pairs(1, 4000), test = Pairs(2, 1000);
  for (const char* form : {"parallel", "stacked"}) {
    const Training training{.flags = {{"form", form}}};
    EXPECT_GT(TrainAndTest("dcnv2", train, test, training).Metric("auc"), 0.95) << form;
  }
}

// The same pairs as one bag without fields, as in libsvm files.
TEST(ZooTest, AFactorizationMachineFindsPairsInsideABag) {
  const auto bag = [](uint64_t seed, int64_t rows) {
    const PlantedRows pairs = Pairs(seed, rows);
    Features features{.features = {{.input = "ids", .kind = Feature::Kind::kBag}},
                      .labels = {{.input = "label"}}};
    PlantedRows planted(features);
    for (int64_t r = 0; r < rows; ++r) {
      AppendBag({pairs.batch.fields[0].ids.ids[r], pairs.batch.fields[1].ids.ids[r]},
                &planted.field(0));
    }
    planted.label() = pairs.batch.fields[2];
    planted.batch.rows = rows;
    return planted;
  };
  const PlantedRows train = bag(1, 4000), test = bag(2, 1000);
  EXPECT_GT(TrainAndTest("fm", train, test, {.epochs = 8}).Metric("auc"), 0.95);
  EXPECT_NEAR(TrainAndTest("lr", train, test, {}).Metric("auc"), 0.5, 0.05);
}

// A click is an item that occurs in the history, at any place.
PlantedRows Histories(uint64_t seed, int64_t rows) {
  constexpr uint64_t kItems = 50;
  constexpr int kLength = 8;
  PlantedRows planted({.features = {{.input = "item", .vocabulary = "goods"},
                                    {.input = "history",
                                     .kind = Feature::Kind::kSequence,
                                     .length = kLength,
                                     .vocabulary = "goods"}},
                       .labels = {{.input = "label"}}});
  for (int64_t r = 0; r < rows; ++r) {
    const RngKey key = RngKey(seed).With(r);
    std::vector<uint64_t> history;
    for (int i = 0; i < kLength; ++i) history.push_back(key.Below(i, kItems));
    const bool click = key.Below(kLength, 2) == 1;
    uint64_t item = history[key.Below(kLength + 1, kLength)];
    for (int i = kLength + 2; !click && std::count(history.begin(), history.end(), item) > 0; ++i) {
      item = key.Below(i, kItems);
    }
    planted.field(0).ids.ids.push_back(item);
    AppendBag(history, &planted.field(1));
    planted.label().values.push_back(click ? 1 : 0);
  }
  planted.batch.rows = rows;
  return planted;
}

TEST(ZooTest, AttentionFindsTheItemInTheHistoryThatAMeanBlurs) {
  const PlantedRows train = Histories(1, 8000), test = Histories(2, 1000);
  const Training training{
      .flags = {{"optimizer", "adam"}, {"learning_rate", "0.01"}, {"embedding_l2", "0"}},
      .epochs = 4};
  EXPECT_GT(TrainAndTest("din", train, test, training).Metric("auc"), 0.95);
  EXPECT_LT(TrainAndTest("wide_deep", train, test, training).Metric("auc"), 0.8);
}

// The label is a function of the category a; b is noise.
PlantedRows Labels(uint64_t seed, LabelTask task, float (*label)(uint64_t a)) {
  Features features = TwoCategories();
  features.labels = {{.input = "label", .task = task}};
  if (task == LabelTask::kClasses) features.labels[0].classes = 3;
  PlantedRows planted(features);
  for (int64_t r = 0; r < 2000; ++r) {
    const uint64_t a = RngKey(seed).Below(2 * r, 9);
    planted.field(0).ids.ids.push_back(a);
    planted.field(1).ids.ids.push_back(100 + RngKey(seed).Below(2 * r + 1, 9));
    planted.label().values.push_back(label(a));
  }
  planted.batch.rows = 2000;
  return planted;
}

TEST(ZooTest, EveryModelPredictsNumbers) {
  const auto number = [](uint64_t a) { return 0.5f * static_cast<float>(a) - 1; };
  const PlantedRows train = Labels(1, LabelTask::kRegression, number),
                    test = Labels(2, LabelTask::kRegression, number);
  for (const ZooModel& model : Zoo()) {
    if (model.name == "din") continue;  // it needs a history
    const Training training{.flags = {{"optimizer", "adam"}, {"learning_rate", "0.02"}},
                            .epochs = 8};
    const Report report = TrainAndTest(std::string(model.name), train, test, training);
    EXPECT_LT(report.Metric("rmse"), 0.3) << model.name;  // the label's deviation is 1.3
    EXPECT_LT(report.Metric("mae"), 0.3) << model.name;
    EXPECT_TRUE(std::isnan(report.Metric("auc"))) << model.name;
  }
}

TEST(ZooTest, ModelsThatCanPredictClassesDo) {
  const auto third = [](uint64_t a) { return static_cast<float>(a % 3); };
  const PlantedRows train = Labels(1, LabelTask::kClasses, third),
                    test = Labels(2, LabelTask::kClasses, third);
  for (const ZooModel& model : Zoo()) {
    if (!model.classes || model.name == "din") continue;
    const Training training{.flags = {{"optimizer", "adam"}, {"learning_rate", "0.02"}}};
    const Report report = TrainAndTest(std::string(model.name), train, test, training);
    EXPECT_GT(report.Metric("accuracy"), 0.95) << model.name;
    EXPECT_LT(report.Metric("logloss"), 0.5) << model.name;  // of a guess: 1.1
    EXPECT_TRUE(std::isnan(report.Metric("auc"))) << model.name;
  }
}

// Rows with the opposite label count nothing; if they counted, nothing could be learned.
TEST(ZooTest, RowsCountByTheirWeight) {
  const auto rows = [](uint64_t seed, float weight_of_lies) {
    Features features = TwoCategories();
    features.weight = "weight";
    PlantedRows planted(features);
    for (int64_t r = 0; r < 2000; ++r) {
      const uint64_t a = RngKey(seed).Below(r, 10);
      const bool lie = weight_of_lies >= 0 && r % 2 == 1;
      planted.field(0).ids.ids.push_back(a);
      planted.field(1).ids.ids.push_back(100);
      planted.label().values.push_back((a < 5) != lie ? 1 : 0);
      planted.weight().values.push_back(lie ? weight_of_lies : 1);
    }
    planted.batch.rows = 2000;
    return planted;
  };
  const PlantedRows test = rows(2, -1);
  for (const char* name : {"lr", "wide_deep"}) {
    const Training training{.epochs = 3};
    EXPECT_GT(TrainAndTest(name, rows(1, 0), test, training).Metric("auc"), 0.99) << name;
    EXPECT_LT(TrainAndTest(name, rows(1, 3), test, training).Metric("auc"), 0.1) << name;
  }
}

// Clicks whose rate depends on user and item. Every pair of them has exactly its share of clicks,
// so that the rates of two samples do not differ by chance.
PlantedRows Rates(uint64_t seed, int64_t rows) {
  constexpr uint64_t kUsers = 10, kItems = 12;
  PlantedRows planted({.features = {Category("user"),
                                    {.input = "item", .vocabulary = "goods"},
                                    {.input = "history",
                                     .kind = Feature::Kind::kSequence,
                                     .length = 3,
                                     .vocabulary = "goods"}},
                       .labels = {{.input = "label"}},
                       .rows = rows});
  std::map<uint64_t, int64_t> seen;
  double clicks = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const RngKey key = RngKey(seed).With(r);
    const uint64_t user = key.Below(0, kUsers), item = key.Below(1, kItems);
    const double rate = 0.05 + 0.03 * static_cast<double>(user) + (user % 3 == item % 3 ? 0.3 : 0);
    const auto before = static_cast<double>(seen[user * kItems + item]++);
    const bool click = std::round((before + 1) * rate) > std::round(before * rate);
    planted.field(0).ids.ids.push_back(100 + user);
    planted.field(1).ids.ids.push_back(item);
    AppendBag({key.Below(2, kItems), key.Below(3, kItems)}, &planted.field(2));
    planted.label().values.push_back(click ? 1 : 0);
    clicks += click ? 1 : 0;
  }
  planted.features.labels[0].mean = clicks / static_cast<double>(rows);
  planted.batch.rows = rows;
  return planted;
}

// Without the cool-down the last batches shift the scores of all rows by a few percent. Over its
// 20,000 rows of the one epoch of a network, the rate of the clicks has a deviation of 1 %.
TEST(ZooTest, EveryModelIsCalibratedAfterItsRecipe) {
  const PlantedRows train = Rates(1, 100000), test = Rates(2, 10000);
  for (const ZooModel& model : Zoo()) {
    Training training{.epochs = model.recipe.epochs,
                      .batch_size = DefaultBatchSize(model.recipe, train.features),
                      .cooldown = true};
    const Report report = TrainAndTest(std::string(model.name), train, test, training);
    EXPECT_NEAR(report.Metric("calibration"), 1, 0.02) << model.name;
    EXPECT_GT(report.Metric("auc"), 0.6) << model.name;
  }
}

const ParameterSpec* OutputBias(const Model& model) {
  for (const ParameterSpec& spec : model.graph.def().parameters) {
    if (spec.name == "output.b_0") return &spec;
  }
  return nullptr;
}

TEST(ZooTest, TheOutputStartsAtTheMeanOfTheLabel) {
  Features features = TwoCategories();
  features.labels[0].mean = 0.2;
  const auto click = MakeZooModel(*FindZooModel("lr"), features, Config());
  ASSERT_TRUE(click.ok()) << click.status();
  EXPECT_EQ(OutputBias(*click)->attributes.init, Constant(std::log(0.2 / 0.8)));
  features.labels[0] = {.input = "label", .task = LabelTask::kRegression, .mean = 3.5};
  const auto number = MakeZooModel(*FindZooModel("lr"), features, Config());
  EXPECT_EQ(OutputBias(*number)->attributes.init, Constant(3.5));
  features.labels[0] = {.input = "label", .task = LabelTask::kClasses, .classes = 4};
  const auto classes = MakeZooModel(*FindZooModel("lr"), features, Config());
  EXPECT_THAT(OutputBias(*classes)->shape, ElementsAre(4));
}

std::string Refusal(const std::string& name, const Features& features,
                    const Config::Values& flags = {}) {
  const auto model = MakeZooModel(*FindZooModel(name), features, Config(flags));
  return std::string(Message(model.status()));
}

TEST(ZooTest, DataThatAModelCannotUseIsRefusedWithModelsThatCan) {
  Features classes = TwoCategories();
  classes.labels[0] = {.input = "kind", .task = LabelTask::kClasses, .classes = 7};
  for (const char* name : {"fm", "fwfm", "ffm", "deepfm"}) {
    EXPECT_EQ(Refusal(name, classes),
              std::string(name) +
                  " predicts one number, and the label kind has 7 classes: use "
                  "one of lr, wide_deep, dcnv2, din");
  }
  Features one = TwoCategories();
  one.features.pop_back();
  EXPECT_EQ(Refusal("fwfm", one),
            "fwfm weights pairs of features, and the data has 1 with categories: use lr or fm");
  EXPECT_EQ(
      Refusal("ffm", one),
      "ffm has a vector for each pair of features, and the data has 1 with categories: use lr "
      "or fm");
  one.features = {{.input = "x", .kind = Feature::Kind::kNumber}};
  for (const char* name : {"fwfm", "ffm"}) {
    EXPECT_THAT(Refusal(name, one), HasSubstr("0 with categories: use lr or wide_deep"));
  }
  Features numbers = TwoCategories();
  numbers.features = {{.input = "x", .kind = Feature::Kind::kNumber, .width = 3}};
  EXPECT_THAT(Refusal("fm", numbers), HasSubstr("fm needs categories"));
  EXPECT_THAT(Refusal("deepfm", numbers), HasSubstr("use wide_deep"));
  for (const char* name : {"lr", "wide_deep", "dcnv2"}) EXPECT_EQ(Refusal(name, numbers), "");
}

TEST(ZooTest, ARowHasOneLabelAndAtLeastOneFeature) {
  Features features = TwoCategories();
  features.labels.push_back({.input = "bought"});
  EXPECT_EQ(Refusal("lr", features),
            "lr predicts one label, and the data has 2 (label, bought): name it with --label");
  features.labels.clear();
  EXPECT_EQ(Refusal("lr", features), "the data has no label: name it with --label COLUMN");
  features = TwoCategories();
  features.features.clear();
  EXPECT_EQ(Refusal("lr", features), "the data has no features besides its label");
}

TEST(ZooTest, AttentionNeedsATargetAndAHistoryOrTheirNames) {
  EXPECT_THAT(Refusal("din", TwoCategories()),
              HasSubstr("din needs a category and a sequence of the same vocabulary"));
  Features apart = TwoCategories();
  apart.features.push_back(
      {.input = "seen", .kind = Feature::Kind::kSequence, .length = 5, .vocabulary = "seen"});
  EXPECT_THAT(Refusal("din", apart), HasSubstr("name them with --target and --history"));
  EXPECT_EQ(Refusal("din", apart, {{"target", "a"}, {"history", "seen"}}), "");
  EXPECT_EQ(Refusal("din", apart, {{"target", "z"}, {"history", "seen"}}),
            "--target z: the data has no category of that name");
  EXPECT_EQ(Refusal("din", apart, {{"target", "a"}, {"history", "b"}}),
            "--history b: the data has no sequence of that name");
}

TEST(ZooTest, ValuesOfFlagsAreCheckedBeforeThereIsData) {
  const std::map<std::string, Config::Values> wrong = {
      {"--dim: '0'", {{"dim", "0"}}},
      {"--layers: '64,0'", {{"layers", "64,0"}}},
      {"--dropout: '1'", {{"dropout", "1"}}},
      {"--learning_rate: '0'", {{"learning_rate", "0"}}},
      {"--embedding_l2: '-1'", {{"embedding_l2", "-1"}}},
      {"--schedule: 'steep'", {{"schedule", "steep"}, {"schedule_steps", "5"}}},
      {"--schedule_steps: '' is not 1 or more", {{"schedule", "linear"}}},
      {"--form: 'beside'", {{"form", "beside"}}},
      {"--crosses: '0'", {{"crosses", "0"}}},
      {"--initial_accumulator: '-1' is not 0 or more", {{"initial_accumulator", "-1"}}},
      {"--initial_accumulator: '1' is not a setting of --optimizer adam",
       {{"initial_accumulator", "1"}, {"optimizer", "adam"}}}};
  for (const auto& [message, flags] : wrong) {
    const Status status = ReadZooFlags(*FindZooModel("dcnv2"), Config(flags));
    EXPECT_THAT(std::string(Message(status)), HasSubstr(message));
  }
  for (const ZooModel& model : Zoo()) {
    EXPECT_TRUE(ReadZooFlags(model, Config()).ok()) << model.name;
  }
}

TEST(ZooTest, TheLearningRateOfASumIsDividedByItsTerms) {
  const Recipe recipe = {.learning_rate = 5, .per_feature = true};
  Features features;
  features.features = {{.input = "x", .kind = Feature::Kind::kNumber, .width = 13}, Category("a")};
  features.features.push_back({.input = "bag", .kind = Feature::Kind::kBag, .mean_ids = 6});
  EXPECT_DOUBLE_EQ(DefaultLearningRate(recipe, features), 0.25);
  EXPECT_DOUBLE_EQ(DefaultLearningRate(recipe, TwoCategories()), 0.5);
  EXPECT_DOUBLE_EQ(DefaultLearningRate({.learning_rate = 0.02}, features), 0.02);
  const auto rate = [&](const Config::Values& flags) {
    const auto model = MakeZooModel(*FindZooModel("lr"), TwoCategories(), Config(flags));
    EXPECT_TRUE(model.ok()) << model.status();
    return LearningRate(model->optimizer.learning_rate, 0);
  };
  EXPECT_DOUBLE_EQ(rate({}), 0.5);
  EXPECT_DOUBLE_EQ(rate({{"learning_rate", "0.125"}}), 0.125);
}

TEST(ZooTest, FewRowsAreSeenInMoreEpochs) {
  const Recipe recipe = {.epochs = 3, .seen_rows = 500'000};
  const auto epochs = [&](int64_t rows) { return DefaultEpochs(recipe, {.rows = rows}); };
  EXPECT_EQ(epochs(100'000), 5);
  EXPECT_EQ(epochs(10'000'000), 3);
  EXPECT_EQ(epochs(100), kMostEpochs);
  EXPECT_EQ(epochs(0), 3);
  EXPECT_EQ(DefaultEpochs({.epochs = 2}, {.rows = 100}), 2);
}

TEST(ZooTest, ModelsAreFoundByName) {
  EXPECT_EQ(FindZooModel("dcnv2")->name, "dcnv2");
  EXPECT_EQ(FindZooModel("dcnv3"), nullptr);
}

}  // namespace
}  // namespace flotilla
