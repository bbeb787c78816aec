#include "flotilla/dataset/generator_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <numeric>
#include <semaphore>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/prefetch_dataset.h"
#include "flotilla/dataset/read_testing.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const NumberParser& Numbers() {
  static const NumberParser parser;
  return parser;
}

// Generates rows 0 .. rows - 1, `portion` at a time.
MakeRowGenerator CountTo(int rows, int portion) {
  return [=](int64_t) -> StatusOr<RowGenerator> {
    return [=, next = 0](Batch* batch) mutable -> StatusOr<bool> {
      const int end = std::min(next + portion, rows);
      const bool more = next < end;
      for (; next < end; ++next) {
        const std::string line = NumberLines(next, next + 1);
        FL_RETURN_IF_ERROR(
            Numbers().Parse(std::string_view(line).substr(0, line.size() - 1), batch));
      }
      return more;
    };
  };
}

std::unique_ptr<Dataset> Make(MakeRowGenerator make, const GeneratorOptions& options) {
  const std::span<const InputSpec> inputs = Numbers().inputs();
  StatusOr<std::unique_ptr<Dataset>> dataset =
      MakeGeneratorDataset({inputs.begin(), inputs.end()}, std::move(make), options);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

TEST(GeneratorDatasetTest, PortionsOfAnySizeBecomeBatchesInOrder) {
  for (const int prefetch : {0, 3}) {
    for (const int portion : {1, 3, 4, 100}) {
      auto dataset =
          Make(CountTo(10, portion), {.batch = {.batch_size = 4}, .prefetch_batches = prefetch});
      for (int64_t epoch : {0, 1}) {
        StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, epoch, 2);
        ASSERT_TRUE(batches.ok()) << batches.status();
        EXPECT_THAT(*batches,
                    ElementsAre(Pair(0, ElementsAre(0, 1, 2, 3)), Pair(1, ElementsAre(4, 5, 6, 7)),
                                Pair(2, ElementsAre(8, 9))));
        EXPECT_EQ(dataset->counts(), (DatasetCounts{.rows = 10}));
      }
    }
  }
}

TEST(GeneratorDatasetTest, ShortLastBatchIsDroppedAndCountedWhenTold) {
  auto dataset = Make(CountTo(10, 3), {.batch = {.batch_size = 4, .drop_last = true}});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(RowsOf(*batches).size(), 8u);
  EXPECT_EQ(dataset->counts(), (DatasetCounts{.rows = 8, .dropped = 2}));
}

TEST(GeneratorDatasetTest, ShuffleIsThatOfAStreamOfTheSameRows) {
  TempDir dir;
  auto stream = MakeStream({dir.Write("a", NumberLines(0, 200))}, std::make_shared<NumberParser>(),
                           {.batch = {.batch_size = 7, .shuffle_rows = 50, .seed = 9}});
  ASSERT_TRUE(stream.ok());
  auto dataset =
      Make(CountTo(200, 13), {.batch = {.batch_size = 7, .shuffle_rows = 50, .seed = 9}});
  for (int64_t epoch : {0, 1}) {
    StatusOr<BatchesByOrdinal> expected = ReadEpoch(**stream, epoch);
    StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, epoch);
    ASSERT_TRUE(expected.ok() && batches.ok());
    EXPECT_EQ(*batches, *expected);
  }
}

TEST(GeneratorDatasetTest, EpochCanBeLeftEarlyAndBegunAnew) {
  auto dataset = Make(CountTo(100, 1), {.batch = {.batch_size = 2}});
  Batch batch;
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    ASSERT_TRUE(dataset->StartEpoch(epoch).ok());
    ASSERT_TRUE(*dataset->Next(0, &batch));
    EXPECT_THAT(batch.fields[0].values, ElementsAre(0, 1));
    EXPECT_EQ(dataset->counts().rows, 2);
  }
  StatusOr<BatchesByOrdinal> rest = ReadRest(*dataset, 4, 1);
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(RowsOf(*rest).size(), 98u);
  EXPECT_FALSE(*dataset->Next(0, &batch));
}

TEST(GeneratorDatasetTest, ErrorsOfTheGeneratorEndTheEpoch) {
  auto error = [](MakeRowGenerator make, int prefetch) {
    auto dataset =
        Make(std::move(make), {.batch = {.batch_size = 2}, .prefetch_batches = prefetch});
    return ErrorOf(*dataset, 2);
  };
  for (const int prefetch : {0, 2}) {
    EXPECT_EQ(
        error([](int64_t) -> StatusOr<RowGenerator> { return NotFound("no array"); }, prefetch),
        "generator: no array");
    EXPECT_EQ(error(
                  [](int64_t) -> StatusOr<RowGenerator> {
                    return [](Batch*) -> StatusOr<bool> { return InvalidArgument("broken"); };
                  },
                  prefetch),
              "generator: broken");
    EXPECT_EQ(error(
                  [](int64_t) -> StatusOr<RowGenerator> {
                    return [](Batch*) -> StatusOr<bool> { return true; };
                  },
                  prefetch),
              "generator: returned true but added no rows");
    EXPECT_THAT(error(
                    [](int64_t) -> StatusOr<RowGenerator> {
                      return [](Batch* batch) -> StatusOr<bool> {
                        batch->rows = 1;
                        return true;
                      };
                    },
                    prefetch),
                HasSubstr("generator: input label: 0 values for 1 rows"));
    EXPECT_THAT(error(CountTo(0, 1), prefetch),
                HasSubstr("no rows in the output of the generator"));
  }
}

TEST(GeneratorDatasetTest, AGeneratorThatHasFailedIsNotCalledAgainInItsEpoch) {
  int calls = 0;
  auto dataset = Make(
      [&calls](int64_t) -> StatusOr<RowGenerator> {
        return [&calls](Batch* batch) -> StatusOr<bool> {
          ++calls;
          batch->rows = 1000;  // without values
          return true;
        };
      },
      {.batch = {.batch_size = 2}});
  for (int epoch = 1; epoch < 3; ++epoch) {
    ASSERT_TRUE(dataset->StartEpoch(epoch).ok());
    Batch batch;
    for (int worker = 0; worker < 3; ++worker) {
      EXPECT_THAT(std::string(dataset->Next(worker, &batch).status().message()),
                  HasSubstr("0 values for 1000 rows"));
    }
    EXPECT_EQ(calls, epoch);
  }
}

TEST(GeneratorDatasetTest, ResumesExactlyAfterEveryBatch) {
  for (const int prefetch : {0, 3}) {
    for (const int64_t shuffle : {0, 20}) {
      ExpectResumesExactly(
          [&] {
            return Make(
                CountTo(100, 7),
                {.batch = {.batch_size = 9, .drop_last = shuffle > 0, .shuffle_rows = shuffle},
                 .prefetch_batches = prefetch});
          },
          1, /*without_places=*/true);
    }
  }
}

TEST(GeneratorDatasetTest, GeneratorThatGivesLessThanBeforeCannotResume) {
  auto dataset = Make(CountTo(100, 7), {.batch = {.batch_size = 10}, .prefetch_batches = 0});
  ASSERT_TRUE(ReadEpoch(*dataset, 0).ok());
  auto shorter = Make(CountTo(50, 7), {.batch = {.batch_size = 10}, .prefetch_batches = 0});
  EXPECT_THAT(std::string(Message(shorter->Resume(dataset->position()))),
              HasSubstr("resume: the generator produced 50 rows, cannot resume after 100"));
}

TEST(PrefetchDatasetTest, GivesWhatItStandsAroundGives) {
  TempDir dir;
  const std::vector<std::string> files = {dir.Write("a", NumberLines(0, 95) + "bad\n"),
                                          dir.Write("b", NumberLines(95, 160))};
  const StreamOptions options{.batch = {.batch_size = 10, .shuffle_rows = 30}, .max_bad_rows = 1};
  auto make_inner = [&] { return *MakeStream(files, std::make_shared<NumberParser>(), options); };
  auto make = [&]() -> std::unique_ptr<Dataset> { return *PrefetchDataset::Make(make_inner(), 3); };
  auto inner = make_inner();
  StatusOr<BatchesByOrdinal> expected = ReadEpoch(*inner, 2);
  for (const int workers : {1, 3}) {
    auto dataset = make();
    StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 2, workers);
    ASSERT_TRUE(expected.ok() && batches.ok());
    EXPECT_EQ(*batches, *expected);
    EXPECT_EQ(dataset->counts(), inner->counts());
  }
  ExpectResumesExactly(make, 2);
}

TEST(PrefetchDatasetTest, WrongUseIsAnError) {
  EXPECT_FALSE(PrefetchDataset::Make(nullptr, 0).ok());
  auto dataset = Make(CountTo(10, 1), {.prefetch_batches = 1});
  Batch batch;
  EXPECT_EQ(dataset->Next(0, &batch).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(GeneratorDatasetTest, AnInterruptEndsTheWaitForAGeneratorThatIsNotDone) {
  Interrupt interrupt;
  std::binary_semaphore called(0), done(0);
  // Produces two batches; the third blocks until the test releases it.
  const MakeRowGenerator slow = [&](int64_t) -> StatusOr<RowGenerator> {
    return [&, rows = *CountTo(8, 4)(0), calls = 0](Batch* batch) mutable -> StatusOr<bool> {
      if (++calls == 3) {
        called.release();
        done.acquire();
      }
      return rows(batch);
    };
  };
  auto dataset =
      Make(slow, {.batch = {.batch_size = 4}, .prefetch_batches = 3, .interrupt = &interrupt});
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  Batch batch;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(*dataset->Next(0, &batch));
  called.acquire();
  std::thread raiser([&] { interrupt.RaiseSignal(SIGTERM); });
  EXPECT_TRUE(absl::IsCancelled(dataset->Next(0, &batch).status()));
  raiser.join();
  EXPECT_EQ(dataset->position().ordinal, 2);
  EXPECT_EQ(dataset->counts().rows, 8);
  done.release();
}

TEST(GeneratorDatasetTest, AnInterruptedGeneratorIsNotCalledAgain) {
  Interrupt interrupt;
  interrupt.RaiseSignal(SIGTERM);
  const MakeRowGenerator never = [](int64_t) -> StatusOr<RowGenerator> {
    return [](Batch*) -> StatusOr<bool> { return absl::InternalError("was called"); };
  };
  for (const int prefetch : {0, 2}) {
    auto dataset = Make(never, {.prefetch_batches = prefetch, .interrupt = &interrupt});
    ASSERT_TRUE(dataset->StartEpoch(0).ok());
    Batch batch;
    EXPECT_TRUE(absl::IsCancelled(dataset->Next(0, &batch).status()));
  }
}

}  // namespace
}  // namespace flotilla
