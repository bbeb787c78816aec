#include "flotilla/dataset/array_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/read_testing.h"
#include "flotilla/dataset/row_text.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;

const std::vector<InputSpec> kArrayInputs = {{"x", InputKind::kDense, 2},
                                             {"one", InputKind::kIds},
                                             {"pair", InputKind::kIds},
                                             {"bag", InputKind::kIds},
                                             {"y", InputKind::kLabel}};

// Rows with arrays of several types and strides.
class ArrayRowsTest : public ::testing::Test {
 protected:
  ArrayRowsTest() {
    for (int row = 0; row < kRows; ++row) {
      columns_[row] = row;
      columns_[kRows + row] = row + 0.5;
      ids_.push_back(static_cast<int16_t>(row * 3));
      ids_.push_back(-1);  // between the ids
      for (int i = 0; i < 2; ++i) pairs_.push_back(row + i);
      for (int i = 0; i < row % 3; ++i) bag_.push_back(100 * row + i), weights_.push_back(0.5f * i);
      offsets_.push_back(static_cast<uint32_t>(bag_.size()));
      labels_.push_back(row % 2);
    }
    using Type = ArrayView::Type;
    std::vector<ArrayField> fields(5);
    fields[0].values = {columns_.data(), Type::kFloat64, 8, 8 * kRows};
    fields[0].width = 2;
    fields[1] = {.is_ids = true, .values = {ids_.data(), Type::kInt16, 4, 2}};
    fields[2] = {.is_ids = true, .values = {pairs_.data(), Type::kUint64, 16, 8}, .width = 2};
    fields[2].lists = true;
    fields[3] = {.is_ids = true, .values = {bag_.data(), Type::kInt32, 4, 4}, .ragged = true};
    fields[3].offsets = offsets_;
    fields[3].weights = {weights_.data(), Type::kFloat32, 4, 4};
    fields[4].values = {labels_.data(), Type::kUint8, 1, 1};
    rows_ = std::make_shared<ArrayRows>(kRows, std::move(fields));
  }

  static std::vector<std::string> TextsOf(const Batch& batch) {
    EXPECT_TRUE(batch.Check(kArrayInputs).ok()) << batch.Check(kArrayInputs);
    std::vector<std::string> texts;
    for (int64_t row = 0; row < batch.rows; ++row)
      texts.push_back(RowText(kArrayInputs, batch, row));
    return texts;
  }

  static constexpr int kRows = 3000;
  std::vector<double> columns_ = std::vector<double>(2 * kRows);
  std::vector<int16_t> ids_;
  std::vector<uint64_t> pairs_;
  std::vector<int32_t> bag_;
  std::vector<float> weights_;
  std::vector<uint32_t> offsets_ = {0};
  std::vector<uint8_t> labels_;
  std::shared_ptr<ArrayRows> rows_;
};

TEST_F(ArrayRowsTest, ReadsEveryTypeAndStride) {
  Batch batch{.fields = std::vector<Field>(5)};
  rows_->AppendTo(std::vector<uint32_t>{5, 0}, &batch);
  rows_->AppendTo(2, 3, &batch);
  EXPECT_THAT(TextsOf(batch), ElementsAre("x=5,5.5 one=15 pair=5,6 bag=500:0,501:0.5 y=1",
                                          "x=0,0.5 one=0 pair=0,1 bag= y=0",
                                          "x=2,2.5 one=6 pair=2,3 bag=200:0,201:0.5 y=0"));
}

TEST_F(ArrayRowsTest, InPlaceAndCopiedRowsGiveTheSameBatches) {
  auto in_place = InMemoryDataset::FromStored(kArrayInputs, rows_, {});
  auto copied = InMemoryDataset::FromGenerator(kArrayInputs, rows_->Generate(), {});
  ASSERT_TRUE(in_place.ok() && copied.ok());
  EXPECT_EQ((*copied)->rows(), kRows);
  EXPECT_LT((*in_place)->memory_bytes(), (*copied)->memory_bytes() / 5);
  for (const int64_t window : {int64_t{0}, kWholeEpoch}) {
    const BatchOptions options{.batch_size = 700, .shuffle_rows = window, .seed = 3};
    std::vector<std::vector<std::string>> read;
    for (auto* dataset : {in_place->get(), copied->get()}) {
      const auto view = *dataset->View(options);
      ASSERT_TRUE(view->StartEpoch(1).ok());
      Batch batch;
      read.emplace_back();
      while (*view->Next(0, &batch)) {
        for (std::string& text : TextsOf(batch)) read.back().push_back(std::move(text));
      }
    }
    ASSERT_EQ(read[0].size(), kRows);
    EXPECT_EQ(read[0], read[1]);
  }
}

TEST_F(ArrayRowsTest, ShufflesOfTheDatasetWork) {
  auto dataset = InMemoryDataset::FromStored(kArrayInputs, rows_, {.batch_size = 500});
  ASSERT_TRUE(dataset.ok());
  ASSERT_TRUE((*dataset)->LocalShuffle(1).ok());
  const std::vector<std::string> names = {"bag"};
  ASSERT_TRUE((*dataset)->SlotsShuffle(names, 1).ok());
  EXPECT_EQ((*dataset)->CopyRows().rows, kRows);
}

TEST_F(ArrayRowsTest, FindsTheFirstNegativeNumber) {
  EXPECT_EQ(FirstNegative({ids_.data(), ArrayView::Type::kInt16, 4, 2}, kRows, 1), -1);
  EXPECT_EQ(FirstNegative({ids_.data(), ArrayView::Type::kInt16, 4, 2}, kRows, 2), 1);
  EXPECT_EQ(FirstNegative({ids_.data(), ArrayView::Type::kUint16, 2, 2}, kRows, 1), -1);
}

TEST(ArrayNumbersTest, NumbersThatCannotBeTrainedOnAreNamed) {
  const std::vector<InputSpec> inputs = {{.name = "x", .kind = InputKind::kDense, .width = 2},
                                         {.name = "y", .kind = InputKind::kLabel}};
  std::vector<double> x(6, 0.5);
  std::vector<float> y(3, 1);
  const auto check = [&] {
    const ArrayRows rows(3, {{.values = {x.data(), ArrayView::Type::kFloat64, 16, 8}, .width = 2},
                             {.values = {y.data(), ArrayView::Type::kFloat32, 4, 4}}});
    return std::string(rows.CheckNumbers(inputs).message());
  };
  EXPECT_EQ(check(), "");
  y[2] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(check(), "input y, row 2: inf is not a finite number");
  x[3] = -1e20;
  EXPECT_EQ(check(), "input x, row 1: -1e+20 is too large: its square is not a float32");
  x[2] = std::nan("");
  EXPECT_EQ(check(), "input x, row 1: nan is not a finite number");
}

TEST_F(ArrayRowsTest, WeightsOfIdsAreCheckedToo) {
  const std::vector<InputSpec> inputs = {{.name = "bag", .kind = InputKind::kIds}};
  const std::vector<int64_t> ids(4, 7);
  std::vector<double> weights(4, 0.5);
  const auto check = [&] {
    const ArrayRows rows(3, {{.is_ids = true,
                              .values = {ids.data(), ArrayView::Type::kInt64, 8, 8},
                              .ragged = true,
                              .offsets = {0, 1, 1, 4},
                              .weights = {weights.data(), ArrayView::Type::kFloat64, 8, 8}}});
    return std::string(rows.CheckNumbers(inputs).message());
  };
  EXPECT_EQ(check(), "");
  weights[1] = std::nan("");
  EXPECT_EQ(check(), "input bag, row 2: weight nan is not a finite number");
  weights[0] = 1e300;
  EXPECT_EQ(check(), "input bag, row 0: weight 1e+300 is too large: its square is not a float32");
}

TEST_F(ArrayRowsTest, ReadsWholeColumnsAsOneType) {
  std::vector<int64_t> ints(3);
  ReadInts({ids_.data(), ArrayView::Type::kInt16, 4, 2}, 10, ints);
  EXPECT_THAT(ints, ElementsAre(30, 33, 36));
  std::vector<double> numbers(2);
  ReadNumbers({columns_.data(), ArrayView::Type::kFloat64, 8, 8}, kRows, numbers);
  EXPECT_THAT(numbers, ElementsAre(0.5, 1.5));
}

TEST_F(ArrayRowsTest, NoRowsAreAnErrorUnlessTheyAreAllowed) {
  const auto none = std::make_shared<ArrayRows>(0, std::vector<ArrayField>(5));
  EXPECT_EQ(InMemoryDataset::FromStored(kArrayInputs, none, {}).status().message(),
            "dataset: no rows");
  EXPECT_TRUE(InMemoryDataset::FromStored(kArrayInputs, none, {.allow_empty = true}).ok());
}

}  // namespace
}  // namespace flotilla
