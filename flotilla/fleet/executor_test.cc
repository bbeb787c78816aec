#include "flotilla/fleet/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <sstream>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/dataset/batch_builder.h"
#include "flotilla/fleet/odd_model_testing.h"
#include "flotilla/graph/share_parameters.h"
#include "flotilla/infer/model_sections.h"
#include "flotilla/infer/predictor.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

// Clicks where the id is odd.
std::string OddRows(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("1 {} 1 {}\n", i * 7 % 20, i * 7 % 20 % 2);
  return text;
}

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() {
    OddClicks built = MakeOddClicks();
    predict_ = built.predict;
    dataset_ = *DatasetFactory().create_dataset("InMemoryDataset");
    dataset_->set_use_var({built.ids, built.label});
    dataset_->set_batch_size(10);
    dataset_->set_filelist({dir_.Write("rows", OddRows(500))});
    executor_ = *Executor::Make(std::move(built.model), {.threads = 2, .print = &printed_});
  }

  Batch Feed(const std::vector<uint64_t>& ids, const std::vector<float>& labels) {
    return *BatchBuilder(executor_->model().graph.def().inputs)
                .Ids("id", ids)
                .Values("label", labels)
                .Build();
  }

  const TempDir dir_;
  std::ostringstream printed_;
  Var predict_;
  std::unique_ptr<SlotDataset> dataset_;
  std::unique_ptr<Executor> executor_;
};

TEST_F(ExecutorTest, TrainsEpochAfterEpochAndInfers) {
  for (int epoch = 0; epoch < 5; ++epoch) {
    const auto report = executor_->train_from_dataset(*dataset_);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->rows, 500);
  }
  EXPECT_EQ(executor_->epoch(), 5);
  const auto report = executor_->infer_from_dataset(*dataset_);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(report->Metric("auc"), 0.99);
}

TEST_F(ExecutorTest, FitsFilesOrRowsAndContinues) {
  std::ostringstream out, err;
  const SteadyClock clock;
  Console console(err, &clock);
  Terminal terminal{.out = out, .console = console, .log = console.log(), .clock = clock};
  TrainOptions options{.batch_size = 10};
  options.epochs = 2;
  options.keep.out = dir_.path() + "/model";
  options.data.train = {dir_.path() + "/rows"};
  const auto files = executor_->fit(options, std::nullopt, terminal);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->steps, 100);
  EXPECT_EQ(executor_->epoch(), 2);
  // The same directory again: the run continues.
  LoadedRows rows;
  rows.train = *InMemoryDataset::FromRows(
      {{.name = "id", .kind = InputKind::kIds}, {.name = "label", .kind = InputKind::kLabel}},
      Feed({1, 2, 3, 4}, {1, 0, 1, 0}), {});
  options.data.train.clear();
  options.batch_size = 2;
  options.data.ignore_format = true;
  const auto more = executor_->fit(options, ViewsOf(&rows), terminal);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(more->steps, 104);
  EXPECT_EQ(executor_->epoch(), 4);
  EXPECT_EQ(more->table_rows, 20);
  EXPECT_TRUE(executor_->parameter("fc_0.w_0").ok()) << "the parameters are the executor's again";
}

TEST_F(ExecutorTest, FitsRowsThatAProgramMakesAndScoresFiles) {
  std::ostringstream out, err;
  const SteadyClock clock;
  Console console(err, &clock);
  Terminal terminal{.out = out, .console = console, .log = console.log(), .clock = clock};
  TrainOptions options{.batch_size = 2};
  options.data.in_memory = false;
  options.epochs = 3;
  std::vector<int64_t> epochs;
  const MakeRowGenerator make = [&](int64_t epoch) -> StatusOr<RowGenerator> {
    epochs.push_back(epoch);
    return [this, left = 3](Batch* rows) mutable -> StatusOr<bool> {
      if (left-- == 0) return false;
      *rows = Feed({1, 2, 3}, {1, 0, 1});
      return true;
    };
  };
  const auto open = [&](const MakeRowGenerator& rows) -> OpenRows {
    return [&, rows](const BatchOptions& batch, const Interrupt* interrupt) {
      return MakeGeneratorDataset(executor_->model().graph.def().inputs, rows,
                                  {.batch = batch, .interrupt = interrupt});
    };
  };
  const auto result = executor_->fit(options, GivenRows{.train = open(make)}, terminal);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->train.rows, 9);
  EXPECT_EQ(result->steps, 15);
  EXPECT_THAT(epochs, ::testing::ElementsAre(0, 1, 2));
  const MakeRowGenerator broken = [](int64_t) -> StatusOr<RowGenerator> {
    return [](Batch*) -> StatusOr<bool> { return absl::AbortedError("of the program"); };
  };
  EXPECT_EQ(executor_->fit(options, GivenRows{.train = open(broken)}, terminal).status().message(),
            "generator: of the program");

  DataOptions files;
  files.test = {dir_.path() + "/rows"};
  const auto scored = executor_->infer_from_files(files, 10, terminal, nullptr);
  ASSERT_TRUE(scored.ok()) << scored.status();
  EXPECT_EQ(scored->rows, 500);
  EXPECT_EQ(scored->Metric("auc"), executor_->infer_from_dataset(*dataset_)->Metric("auc"));
}

TEST_F(ExecutorTest, ReadsRowsById) {
  ASSERT_TRUE(executor_->train_from_dataset(*dataset_).ok());
  const auto table = executor_->parameter("t");  // ids 0 to 19
  const auto rows = executor_->rows("t", std::vector<uint64_t>{3, 19, 3, 1000});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->shape, (Shape{{4, 4}}));
  for (const auto& [row, id] : {std::pair{0, 3}, {1, 19}, {2, 3}}) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(rows->data[row * 4 + i], table->data[id * 4 + i]);
  }
  EXPECT_NE(rows->data[12], 0) << "an unknown id has its initial value";
  EXPECT_EQ(executor_->parameter("t")->shape.dims[0], 20) << "and no row";
  EXPECT_EQ(executor_->rows("u", {}).status().message(), "the model has no table u");
}

TEST_F(ExecutorTest, PrintsTheFetchListEveryPrintPeriod) {
  const auto report =
      executor_->train_from_dataset(*dataset_, {.fetch_list = {"auc", executor_->model().loss},
                                                .fetch_info = {"Epoch 0 auc "},
                                                .print_period = 20,
                                                .debug = true});
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string text = printed_.str();
  size_t times = 0;
  for (size_t at = text.find("Epoch 0 auc"); at != std::string::npos;
       at = text.find("Epoch 0 auc", at + 1)) {
    ++times;
  }
  EXPECT_EQ(times, 2u);  // 50 batches
  EXPECT_THAT(text, HasSubstr("data: ["));
  EXPECT_THAT(text, HasSubstr("compute"));
}

TEST_F(ExecutorTest, CallsTheHandlerOnAThreadOfItsOwn) {
  std::promise<std::map<std::string, Tensor>> first;
  std::atomic<int> calls = 0;
  std::thread::id thread;
  DatasetRunOptions options;
  options.fetch_handler = {.vars = {{"auc", "auc"}, {"p", predict_}},
                           .seconds = 0.001,
                           .handler = [&](const std::map<std::string, Tensor>& values) {
                             thread = std::this_thread::get_id();
                             if (calls++ == 0) first.set_value(values);
                           }};
  std::future<std::map<std::string, Tensor>> values = first.get_future();
  // An epoch takes a few milliseconds: in some of these the handler is called.
  while (calls == 0) {
    ASSERT_TRUE(executor_->train_from_dataset(*dataset_, options).ok());
  }
  const std::map<std::string, Tensor> got = values.get();
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(got.at("p").shape.dims, (std::vector<int64_t>{10, 2}));
  EXPECT_EQ(got.at("auc").data.size(), 1u);
}

TEST_F(ExecutorTest, RunsOneFedBatchAndGivesWhatWasAskedFor) {
  const Batch batch = Feed({1, 2, 3, 4}, {1, 0, 1, 0});
  const std::vector<Fetch> list = {executor_->model().loss, predict_, "auc"};
  float first = 0, last = 0;
  for (int i = 0; i < 50; ++i) {
    const auto values = executor_->run(batch, list);
    ASSERT_TRUE(values.ok()) << values.status();
    ASSERT_EQ(values->size(), 3u);
    (i == 0 ? first : last) = (*values)[0].data[0];
    EXPECT_EQ((*values)[1].shape.dims, (std::vector<int64_t>{4, 2}));
  }
  EXPECT_LT(last, 0.7f * first);
  const auto before = *executor_->parameter("fc_0.w_0");
  const auto inferred = executor_->infer(batch, list);
  ASSERT_TRUE(inferred.ok()) << inferred.status();
  EXPECT_EQ((*inferred)[2].data[0], 1);
  EXPECT_EQ(executor_->parameter("fc_0.w_0")->data, before.data);
}

TEST_F(ExecutorTest, SeveralBatchesAreStepsOfTheirOwnWhereWorkersAreFree) {
  const std::vector<Batch> feeds = {Feed({1, 2, 3}, {1, 0, 1}), Feed({4, 5}, {0, 1})};
  const std::vector<Fetch> list = {executor_->model().loss, predict_};
  const auto together = executor_->run(feeds, list);
  ASSERT_TRUE(together.ok()) << together.status();
  EXPECT_EQ((*together)[0].shape.dims, (std::vector<int64_t>{2}));
  EXPECT_EQ((*together)[1].shape.dims, (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(executor_->communicator().global_step(), 2);
  ASSERT_TRUE(executor_->run_startup().ok());
  const auto first = executor_->run(feeds[0], list), second = executor_->run(feeds[1], list);
  EXPECT_EQ((*first)[0].data[0], (*together)[0].data[0]);
  EXPECT_EQ((*second)[0].data[0], (*together)[0].data[1]);
}

TEST(ExecutorFeedTest, FetchedValuesHaveTheirOwnShapes) {
  Graph g;
  const Var x = g.Dense("x", 6);
  const Var square = Reshape(x, {2, 3}), sums = ReduceSum(x, {1});
  const Var loss = ReduceSum(Fc(x, 1));
  auto executor = *Executor::Make({.graph = std::move(g), .loss = loss, .optimizer = Sgd(0.1)}, {});
  const Batch batch = *BatchBuilder(executor->model().graph.def().inputs)
                           .Values("x", std::vector<float>(24, 1))
                           .Build();
  const auto values = executor->infer(batch, std::vector<Fetch>{square, sums, loss});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].shape.dims, (std::vector<int64_t>{4, 2, 3}));
  EXPECT_EQ((*values)[1].shape.dims, (std::vector<int64_t>{4}));
  EXPECT_EQ((*values)[2].shape.dims, (std::vector<int64_t>{1}));
}

TEST_F(ExecutorTest, ASecondProgramReadsWhatTheFirstTrains) {
  Model test;
  const Var x = Embedding(test.graph.Ids("other"), {.table = "t", .dim = 4});
  const GraphDef& trained = executor_->model().graph.def();
  ASSERT_TRUE(UseParametersOf(trained, test.graph.mutable_def()).ok());
  auto second = Executor::Make(std::move(test), &executor_->communicator(), {});
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_TRUE(executor_->train_from_dataset(*dataset_).ok());
  const Batch batch = *BatchBuilder((*second)->model().graph.def().inputs)
                           .Ids("other", std::vector<uint64_t>{3, 19})
                           .Build();
  const auto values = (*second)->infer(batch, std::vector<Fetch>{x});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].data, executor_->rows("t", std::vector<uint64_t>{3, 19})->data);
}

TEST_F(ExecutorTest, ACallMayHaveThreadsOfItsOwnAndBeStopped) {
  std::atomic<bool> stop = false;
  const DatasetRunOptions options{
      .debug = true, .threads = 3, .stop = [&stop] { return stop.load(); }};
  auto report = executor_->train_from_dataset(*dataset_, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->stopped);
  EXPECT_THAT(printed_.str(), HasSubstr("of 3 workers"));
  stop = true;
  report = executor_->train_from_dataset(*dataset_, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->stopped);
  EXPECT_LT(report->rows, 500);
}

TEST_F(ExecutorTest, MetricsOfFedBatchesGoOnUntilTheyAreReset) {
  const std::vector<Fetch> list = {"auc", Fetch::Window("auc"), predict_};
  const Batch good = Feed({1, 2}, {1, 0}), bad = Feed({1, 2}, {0, 1});
  const auto auc = [](const StatusOr<std::vector<Tensor>>& values, int k) {
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? (*values)[k].data[0] : -1;
  };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(executor_->run(good, list).ok());
  executor_->reset_metrics();
  EXPECT_EQ(auc(executor_->run(good, list), 0), 1);
  const auto both = executor_->run(bad, list);
  EXPECT_GT(auc(both, 0), 0) << "of two batches";
  EXPECT_LT(auc(both, 0), 1);
  EXPECT_EQ(auc(both, 1), auc(both, 0)) << "the window has both";
  // The seeds' window: twenty batches. Two rows each are in the state.
  for (int i = 0; i < 19; ++i) ASSERT_TRUE(executor_->run(good, list).ok());
  const auto later = executor_->run(good, list);
  EXPECT_EQ(auc(later, 1), 1) << "the batch with the wrong labels is out of the window";
  EXPECT_LT(auc(later, 0), 1);
  const auto state = executor_->metric_state("auc");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_FALSE(executor_->metric_state("f1").ok());
  EXPECT_EQ(auc(executor_->infer(good, list), 0), 1) << "counted by themselves";
  EXPECT_LT(auc(executor_->infer(bad, list), 0), 1);
  executor_->reset_metrics();
  EXPECT_EQ(auc(executor_->infer(good, list), 0), 1);
  EXPECT_EQ(auc(executor_->run(good, list), 0), 1);
  // Another fetch list continues with the same metrics.
  executor_->reset_metrics();
  ASSERT_TRUE(executor_->run(bad, list).ok());
  EXPECT_LT(auc(executor_->run(good, std::vector<Fetch>{"auc"}), 0), 1);
}

TEST(ExecutorFeedTest, EveryFedBatchDrawsMasksOfItsOwn) {
  Graph g;
  const Var x = g.Dense("x", 32);
  const Var kept = Dropout(x, 0.5);
  const Var loss = ReduceSum(Fc(kept, 1));
  auto executor = *Executor::Make({.graph = std::move(g), .loss = loss, .optimizer = Sgd(0.1)}, {});
  const Batch batch = *BatchBuilder(executor->model().graph.def().inputs)
                           .Values("x", std::vector<float>(32, 1))
                           .Build();
  std::set<std::vector<float>> masks;
  for (int pass = 0; pass < 2; ++pass) {
    for (int step = 0; step < 3; ++step) {
      const auto values = executor->run(batch, std::vector<Fetch>{kept});
      ASSERT_TRUE(values.ok()) << values.status();
      masks.insert((*values)[0].data);
    }
    ASSERT_TRUE(executor->end_pass().ok());
  }
  EXPECT_EQ(masks.size(), 6u);
}

TEST_F(ExecutorTest, ParametersCanBeReadSetAndStartedAgain) {
  const Tensor start = *executor_->parameter("fc_0.w_0");
  ASSERT_TRUE(executor_->set_parameter("fc_0.w_0", std::vector<float>(8, 0.5f)).ok());
  EXPECT_EQ(executor_->parameter("fc_0.w_0")->data[3], 0.5f);
  ASSERT_TRUE(executor_->run_startup().ok());
  EXPECT_EQ(executor_->parameter("fc_0.w_0")->data, start.data);
  EXPECT_FALSE(executor_->parameter("nothing").ok());
}

TEST_F(ExecutorTest, FedBatchesTrainTheParametersOfTheLastStart) {
  const Batch feed = Feed({1, 2, 3, 4}, {1, 0, 1, 0});
  const std::vector<Fetch> loss = {executor_->model().loss};
  const std::vector<float> first = (*executor_->run(feed, loss))[0].data;
  const std::vector<float> second = (*executor_->run(feed, loss))[0].data;
  const std::vector<float> scored = (*executor_->infer(feed, loss))[0].data;
  EXPECT_NE(first, second);
  ASSERT_TRUE(executor_->run_startup().ok());
  EXPECT_EQ((*executor_->run(feed, loss))[0].data, first);
  EXPECT_EQ((*executor_->run(feed, loss))[0].data, second);
  EXPECT_EQ((*executor_->infer(feed, loss))[0].data, scored);
}

// run() is the training loop over one batch: the same batches give the same bits.
TEST(ExecutorFeedTest, FedBatchesTrainLikeThoseOfADataset) {
  const TempDir dir;
  OddClicks built = MakeOddClicks();
  auto dataset = *DatasetFactory().create_dataset("QueueDataset");
  dataset->set_use_var({built.ids, built.label});
  dataset->set_batch_size(10);
  dataset->set_filelist({dir.Write("rows", OddRows(95))});
  auto from_dataset = *Executor::Make(std::move(built.model), {});
  ASSERT_TRUE(from_dataset->train_from_dataset(*dataset).ok());

  auto fed = *Executor::Make(MakeOddClicks().model, {});
  Dataset& rows = **dataset->open();
  ASSERT_TRUE(rows.StartEpoch(0).ok());
  for (Batch batch; *rows.Next(0, &batch);) {
    const auto status = fed->run(batch, {}).status();
    ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_TRUE(fed->end_pass().ok());
  for (const char* name : {"fc_0.w_0", "t"}) {
    EXPECT_EQ(fed->parameter(name)->data, from_dataset->parameter(name)->data) << name;
  }
}

TEST_F(ExecutorTest, WhatIsSavedIsLoaded) {
  ASSERT_TRUE(executor_->train_from_dataset(*dataset_).ok());
  const std::string dir = dir_.path() + "/model";
  const Status saved = executor_->save_persistables(dir);
  ASSERT_TRUE(saved.ok()) << saved;
  const Tensor weights = *executor_->parameter("fc_0.w_0"), rows = *executor_->parameter("t");
  auto other = *Executor::Make(MakeOddClicks().model, {.seed = 9});
  const Status loaded = other->load_persistables(dir);
  ASSERT_TRUE(loaded.ok()) << loaded;
  EXPECT_EQ(other->parameter("fc_0.w_0")->data, weights.data);
  EXPECT_EQ(other->parameter("t")->data, rows.data);
  EXPECT_EQ(other->communicator().global_step(), executor_->communicator().global_step());
}

// Another file list in every pass, as the tutorials do it.
TEST_F(ExecutorTest, TrainsOnOtherFilesInEveryEpoch) {
  for (const int rows : {500, 30, 70}) {
    dataset_->set_filelist({dir_.Write(fmt::format("rows_{}", rows), OddRows(rows))});
    const auto report = executor_->train_from_dataset(*dataset_);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->rows, rows);
  }
}

TEST_F(ExecutorTest, AModelIsSavedWithHowItsRowsWereMade) {
  const auto saved_format = [&](Executor& executor) {
    const std::string dir = dir_.path() + "/model";
    const Status saved = executor.save_persistables(dir);
    EXPECT_TRUE(saved.ok()) << saved;
    return *FormatFromSections(ReadManifest(dir)->info.sections);
  };
  EXPECT_EQ(saved_format(*executor_), ParserSpec{}) << "never trained: not known";
  ASSERT_TRUE(executor_->run(Feed({1}, {1}), {}).ok());
  EXPECT_EQ(saved_format(*executor_), ParserSpec{}) << "of batches by hand nothing is known";
  ASSERT_TRUE(executor_->train_from_dataset(*dataset_).ok());
  EXPECT_EQ(saved_format(*executor_), (ParserSpec{.format = "multislot", .pipe_command = ""}));
  dataset_->set_pipe_command("cat");
  ASSERT_TRUE(executor_->train_from_dataset(*dataset_).ok());
  const ParserSpec piped{.format = "multislot", .pipe_command = "cat"};
  EXPECT_EQ(saved_format(*executor_), piped);
  auto other = *Executor::Make(MakeOddClicks().model, {});
  ASSERT_TRUE(other->load_persistables(dir_.path() + "/model").ok());
  EXPECT_EQ(saved_format(*other), piped) << "what was loaded is still known";
}

TEST_F(ExecutorTest, MistakesAreTold) {
  const Batch batch = Feed({1}, {1});
  const std::vector<Fetch> unknown = {"f1"};
  EXPECT_THAT(std::string(Message(executor_->run(batch, unknown).status())),
              HasSubstr("no metric f1"));
  OddClicks other = MakeOddClicks();
  const std::vector<Fetch> foreign = {other.predict};
  EXPECT_THAT(std::string(Message(executor_->run(batch, foreign).status())),
              HasSubstr("does not belong to the graph of this model"));
  const GraphDef& graph = executor_->model().graph.def();
  for (int v = 0; v < static_cast<int>(graph.vars.size()); ++v) {
    if (graph.vars[v].dtype != DType::kIds) continue;
    const std::vector<Fetch> ids = {Var(executor_->model().loss.graph(), v)};
    EXPECT_THAT(std::string(Message(executor_->run(batch, ids).status())),
                HasSubstr("ids cannot be fetched"));
  }
  Batch wrong = batch;
  wrong.fields.pop_back();
  EXPECT_FALSE(executor_->run(wrong, {}).ok());
}

// As word embeddings have it: tables and a loss, nothing to score.
TEST(ExecutorModelTest, AModelWithoutMetricOrPredictionIsSavedAndTrainedOn) {
  const auto make = [] {
    OddClicks built = MakeOddClicks();
    built.model.metrics.clear();
    return *Executor::Make(std::move(built.model), {});
  };
  auto executor = make();
  const TempDir dir;
  const auto feed = BatchBuilder(executor->model().graph.def().inputs)
                        .Ids("id", std::vector<uint64_t>{1, 2})
                        .Values("label", std::vector<float>{1, 0})
                        .Build();
  ASSERT_TRUE(executor->run(*feed, {}).ok());
  const std::string saved = dir.path() + "/model";
  Status status = executor->save_persistables(saved);
  ASSERT_TRUE(status.ok()) << status;
  auto other = make();
  status = other->load_persistables(saved);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(other->parameter("fc_0.w_0")->data, executor->parameter("fc_0.w_0")->data);
  EXPECT_THAT(std::string(Message(Predictor::Load(saved).status())),
              HasSubstr("does not define a prediction"));
  EXPECT_THAT(std::string(Message(executor->save_inference_model(dir.path() + "/small"))),
              HasSubstr("pass the value to predict"));
}

}  // namespace
}  // namespace flotilla
