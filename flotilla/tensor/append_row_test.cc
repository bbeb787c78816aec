#include "flotilla/tensor/append_row.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

TEST(AppendRowTest, UnfinishedRowIsTakenBackInEveryKindOfField) {
  const std::vector<InputSpec> inputs = {
      {"x", InputKind::kDense, 2}, {"one", InputKind::kIds, 1}, {"bag", InputKind::kIds, 1}};
  Batch batch;
  batch.fields.resize(3);
  for (const int64_t rows : {0, 1, 2}) {
    batch.rows = rows;
    batch.fields[0].values.push_back(7);
    batch.fields[1].ids.ids.push_back(7);
    BeginBag(&batch.fields[2].ids);
    batch.fields[2].ids.ids.push_back(7);
    EXPECT_FALSE(EndRow(inputs, InvalidArgument("bad"), &batch).ok());
    EXPECT_TRUE(batch.Check(inputs).ok()) << rows;
    EXPECT_EQ(batch.fields[2].ids.one_per_row(), rows == 0);
    // A whole row, for the next round.
    batch.fields[0].values.insert(batch.fields[0].values.end(), {1, 2});
    batch.fields[1].ids.ids.push_back(3);
    BeginBag(&batch.fields[2].ids);
    batch.fields[2].ids.ids.insert(batch.fields[2].ids.ids.end(), rows, 4);
    EXPECT_TRUE(EndBag(&batch.fields[2].ids));
  }
}

}  // namespace
}  // namespace flotilla
