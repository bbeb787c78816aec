// Shared by the tests of all parsers: rows as text, and the guarantees that hold for every parser
// on every line. For test programs only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/row_text.h"

namespace flotilla {

inline Batch EmptyBatchFor(const Parser& parser) {
  Batch batch;
  batch.fields.resize(parser.inputs().size());
  return batch;
}

inline bool SameRows(const Batch& a, const Batch& b) {
  if (a.rows != b.rows || a.fields.size() != b.fields.size()) return false;
  for (size_t f = 0; f < a.fields.size(); ++f) {
    if (a.fields[f].values != b.fields[f].values || a.fields[f].ids.ids != b.fields[f].ids.ids ||
        a.fields[f].ids.offsets != b.fields[f].ids.offsets) {
      return false;
    }
  }
  return true;
}

// Parses the lines, which must all be good, into one batch and returns each row as RowText.
inline std::vector<std::string> RowsOf(const Parser& parser,
                                       const std::vector<std::string>& lines) {
  Batch batch = EmptyBatchFor(parser);
  for (const std::string& line : lines) {
    const Status status = parser.Parse(line, &batch);
    EXPECT_TRUE(status.ok()) << status << " in " << line;
  }
  const Status check = batch.Check(parser.inputs());
  EXPECT_TRUE(check.ok()) << check;
  std::vector<std::string> rows;
  for (int64_t row = 0; row < batch.rows; ++row) {
    rows.push_back(RowText(parser.inputs(), batch, row));
  }
  return rows;
}

inline std::string RowOf(const Parser& parser, const std::string& line) {
  const std::vector<std::string> rows = RowsOf(parser, {line});
  return rows.size() == 1 ? rows[0] : "not one row";
}

// A bad line and the required beginning of its error.
struct BadLine {
  std::string line;
  std::string error;
};

// Expects that each line is a bad row with its error, both as the first of a batch and after
// `good`, and that the batch stays unchanged.
inline void ExpectBadRows(const Parser& parser, const std::string& good,
                          const std::vector<BadLine>& bad_lines) {
  for (const BadLine& bad : bad_lines) {
    Batch batch = EmptyBatchFor(parser);
    for (int round = 0; round < 2; ++round) {
      const Batch before = batch;
      const Status status = parser.Parse(bad.line, &batch);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.line;
      EXPECT_THAT(std::string(Message(status)), ::testing::StartsWith(bad.error)) << bad.line;
      EXPECT_TRUE(SameRows(batch, before)) << bad.line;
      const Status good_status = parser.Parse(good, &batch);
      ASSERT_TRUE(good_status.ok()) << good_status;
    }
    const Status check = batch.Check(parser.inputs());
    EXPECT_TRUE(check.ok()) << check;
  }
}

}  // namespace flotilla
