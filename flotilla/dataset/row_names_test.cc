#include "flotilla/dataset/row_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/chained_dataset.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/read_testing.h"

namespace flotilla {
namespace {

// Files of numbers, each on a line of its own.
struct NumberFiles {
  TempDir dir;
  std::vector<std::string> files;
  std::map<int, std::string> names;  // of numbers

  explicit NumberFiles(const std::vector<int>& sizes, std::string_view unit = "line") {
    int next = 0;
    for (const int size : sizes) {
      const std::string file =
          dir.Write(fmt::format("f{}", files.size()), NumberLines(next, next + size));
      for (int line = 1; line <= size; ++line) {
        names[next++] = fmt::format("{}, {} {}", file, unit, line);
      }
      files.push_back(file);
    }
  }
};

// Every row of an epoch has the name of its number.
void ExpectNames(Dataset& dataset, int64_t epoch, const std::map<int, std::string>& names) {
  ASSERT_TRUE(dataset.StartEpoch(epoch).ok());
  Batch batch;
  size_t rows = 0;
  bool ids_match = true;
  while (true) {
    const StatusOr<bool> more = dataset.Next(0, &batch);
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
    const std::vector<int> numbers = NumbersOf(batch, &ids_match);
    for (size_t r = 0; r < numbers.size(); ++r, ++rows) {
      EXPECT_EQ(dataset.NameRow(batch, static_cast<int64_t>(r)), names.at(numbers[r]));
    }
  }
  EXPECT_EQ(rows, names.size());
}

std::unique_ptr<BatchedDataset> Stream(const NumberFiles& data, const StreamOptions& options) {
  return *MakeStream(data.files, std::make_shared<NumberParser>(), options);
}

std::unique_ptr<InMemoryDataset> Load(const NumberFiles& data, const StreamOptions& options) {
  return *InMemoryDataset::Load(data.files, std::make_shared<NumberParser>(), options);
}

TEST(RowNamesTest, LinesOfSlicesAreNamedByTheirNumbersInTheFile) {
  const NumberFiles data({5, 60});
  std::map<int, std::string> names = data.names;
  std::erase_if(names, [](const auto& name) { return name.first >= 10 && name.first < 40; });
  const auto line_of = [](int number) {
    return static_cast<int64_t>(NumberLines(5, number).size());
  };
  const std::vector<FileSlice> slices = {{.path = data.files[0]},
                                         {.path = data.files[1], .begin = 0, .end = line_of(10)},
                                         {.path = data.files[1], .begin = line_of(40)}};
  for (const int64_t batch : {1, 4}) {
    const StreamOptions options{.batch = {.batch_size = batch}};
    ExpectNames(**MakeStream(slices, std::make_shared<NumberParser>(), options), 0, names);
  }
}

TEST(RowNamesTest, LinesOfAStreamAreNamed) {
  const NumberFiles data({5, 6, 7, 12});
  for (const int64_t batch : {1, 3, 4, 5}) {
    for (const int64_t window : {0, 6}) {
      SCOPED_TRACE(fmt::format("batches of {}, window {}", batch, window));
      const auto dataset =
          Stream(data, {.batch = {.batch_size = batch, .shuffle_rows = window == 0 ? 0 : batch}});
      ExpectNames(*dataset, 3, data.names);
    }
  }
}

TEST(RowNamesTest, LinesOfSeveralReadersAndWindowsAreNamed) {
  const NumberFiles data({20, 31, 40});
  for (const int readers : {1, 3}) {
    const auto dataset = Stream(
        data, {.batch = {.batch_size = 4, .shuffle_rows = 12, .seed = 9}, .readers = readers});
    ExpectNames(*dataset, 2, data.names);
  }
}

TEST(RowNamesTest, RowsOfACacheAreNumbered) {
  const NumberFiles data({20, 31}, "row");
  const TempDir cache;
  const auto dataset = Stream(data, {.batch = {.batch_size = 8}, .cache = cache.path()});
  ExpectNames(*dataset, 0, data.names);
}

TEST(RowNamesTest, RowsInMemoryAreNamedAfterTheirFilesInAnyOrder) {
  const NumberFiles data({1100, 1000, 200});
  const BatchOptions shuffled{.batch_size = 100, .shuffle_rows = kWholeEpoch, .seed = 4};
  for (const int threads : {1, 3}) {
    const auto dataset = Load(data, {.batch = shuffled, .threads = threads});
    ExpectNames(*dataset, 0, data.names);
    ExpectNames(*dataset, 1, data.names);
    ASSERT_TRUE(dataset->LocalShuffle(2).ok());
    ExpectNames(*dataset, 2, data.names);
  }
}

TEST(RowNamesTest, AViewOfSomeRowsKeepsTheirNames) {
  const NumberFiles data({30, 40});
  const auto dataset = Load(data, {});
  const auto view = *dataset->View({.batch_size = 3, .shuffle_rows = kWholeEpoch}, {65, 3, 29, 30});
  std::map<int, std::string> names;
  for (const int number : {65, 3, 29, 30}) names[number] = data.names.at(number);
  ExpectNames(*view, 0, names);
}

TEST(RowNamesTest, RowsOfChainedPartsHaveTheNamesOfTheirPart) {
  const NumberFiles data({30, 7, 12});
  std::vector<std::shared_ptr<Dataset>> parts;
  for (const std::string& file : data.files) {
    parts.push_back(*InMemoryDataset::Load(
        {file}, std::make_shared<NumberParser>(),
        {.batch = {.batch_size = 5, .shuffle_rows = kWholeEpoch, .seed = 4}}));
  }
  const auto inputs = parts[0]->inputs();
  ChainOptions options{.inputs = {inputs.begin(), inputs.end()}, .numbers = 3};
  options.take = [next = 0](int64_t) mutable -> StatusOr<std::optional<int>> {
    const int part = next++ % 4;
    if (part == 3) return std::nullopt;  // the end of an epoch
    return part;
  };
  options.open = [&](int part) -> StatusOr<std::shared_ptr<Dataset>> { return parts[part]; };
  ChainedDataset chain(std::move(options));
  ExpectNames(chain, 0, data.names);
  ExpectNames(chain, 1, data.names);
}

TEST(RowNamesTest, RowsThatWereChangedHaveNoNames) {
  const NumberFiles data({30});
  const auto dataset = Load(data, {.batch = {.batch_size = 10}});
  const std::vector<std::string> inputs = {dataset->inputs()[0].name};
  ASSERT_TRUE(dataset->SlotsShuffle(inputs, 0).ok());
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  Batch batch;
  ASSERT_TRUE(*dataset->Next(0, &batch));
  EXPECT_EQ(dataset->NameRow(batch, 0), "");
}

TEST(RowNamesTest, RowsOfAProgramAreNumbered) {
  const NumberFiles data({30});
  const auto rows = Load(data, {});
  const auto inputs = rows->inputs();
  const auto dataset = *InMemoryDataset::FromRows({inputs.begin(), inputs.end()}, rows->CopyRows(),
                                                  {.batch_size = 7, .shuffle_rows = kWholeEpoch});
  std::map<int, std::string> names;
  for (int row = 0; row < 30; ++row) names[row] = fmt::format("row {} in memory", row);
  ExpectNames(*dataset, 0, names);
}

TEST(RowNamesTest, ABatchIsNamedByItsFirstAndLastLine) {
  const NumberFiles data({10, 10, 1, 1, 10});
  const auto dataset = Stream(data, {.batch = {.batch_size = 8}});
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  const std::string& a = data.files[0];
  const std::string& b = data.files[1];
  for (const std::string& expected :
       {a + ", lines 1 to 8", a + ", line 9 to " + b + ", line 6",
        fmt::format("files {} to {}", b, data.files[4]), data.files[4] + ", lines 3 to 10"}) {
    Batch batch;
    ASSERT_TRUE(*dataset->Next(0, &batch));
    EXPECT_EQ(dataset->NameRow(batch, -1), expected);
  }
}

TEST(RowNamesTest, AmongSkippedRowsOnlyTheirBatchIsNamed) {
  TempDir dir;
  const std::string file = dir.Write("a", NumberLines(0, 3) + "x\n" + NumberLines(3, 9));
  const auto dataset = *MakeStream({file}, std::make_shared<NumberParser>(),
                                   {.batch = {.batch_size = 5}, .max_bad_rows = 1});
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  Batch batch;
  ASSERT_TRUE(*dataset->Next(0, &batch));
  ASSERT_EQ(batch.rows, 4);
  EXPECT_EQ(dataset->NameRow(batch, 0), "");
  EXPECT_EQ(dataset->NameRow(batch, -1), file + ", lines 1 to 5");
  ASSERT_TRUE(*dataset->Next(0, &batch));
  EXPECT_EQ(dataset->NameRow(batch, 0), file + ", line 6");
  const auto loaded = *InMemoryDataset::Load({file}, std::make_shared<NumberParser>(),
                                             {.batch = {.batch_size = 5}, .max_bad_rows = 1});
  ASSERT_TRUE(loaded->StartEpoch(0).ok());
  ASSERT_TRUE(*loaded->Next(0, &batch));
  EXPECT_EQ(loaded->NameRow(batch, 2), file + ", lines 1 to 10");
}

TEST(RowNamesTest, LinesAfterAHeaderAreCountedFromTheTopOfTheFile) {
  const NameRows names = NamesInFiles({{.path = "a"}, {.path = "b"}}, {.first = 2});
  // Three rows of a and two of b.
  const BatchOrigin origin{.reader = 0, .begin = {0, 2}, .end = {1, 4}, .rows = 5, .taken = 5};
  for (const auto& [row, name] : std::map<int64_t, std::string>{
           {0, "a, line 2"}, {2, "a, line 4"}, {3, "b, line 2"}, {4, "b, line 3"}}) {
    EXPECT_EQ(names(origin, row), name);
  }
}

}  // namespace
}  // namespace flotilla
