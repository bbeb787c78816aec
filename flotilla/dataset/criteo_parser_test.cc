#include "flotilla/dataset/criteo_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "flotilla/base/hash.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/parser_testing.h"
#include "flotilla/dataset/prepare/synth_criteo.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

using Numeric = CriteoOptions::Numeric;

// A row as parsed by a naive reference implementation.
struct NaiveRow {
  float label;
  std::vector<float> numbers;
  std::vector<uint64_t> ids;
};

std::vector<std::string> SplitAtTabs(std::string_view line) {
  std::vector<std::string> fields(1);
  for (char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

NaiveRow NaiveParse(std::string_view line, Numeric numeric, uint64_t hash_dim) {
  const double min[] = {0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const double diff[] = {20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50};
  const std::vector<std::string> fields = SplitAtTabs(line);
  NaiveRow row;
  row.label = std::stof(fields[0]);
  for (int i = 1; i <= 13; ++i) {
    double x = 0;
    if (!fields[i].empty()) {
      x = std::stod(fields[i]);
      x = numeric == Numeric::kSeeds ? (x - min[i - 1]) / diff[i - 1]
                                     : std::log(1 + std::max(x, 0.0));
    }
    row.numbers.push_back(static_cast<float>(x));
  }
  for (int i = 14; i <= 39; ++i) {
    row.ids.push_back(HashBytes(std::to_string(i) + fields[i]) % hash_dim);
  }
  return row;
}

// Row `r` of a batch with the fields of CriteoInputs() against the naive parse of its line.
void ExpectRow(const Batch& batch, int64_t r, const NaiveRow& naive, Numeric numeric) {
  for (int i = 0; i < kCriteoNumbers; ++i) {
    const float value = batch.fields[0].values[r * kCriteoNumbers + i];
    if (numeric == Numeric::kSeeds) {
      ASSERT_EQ(value, naive.numbers[i]) << "number " << i + 1;
    } else {
      ASSERT_NEAR(value, naive.numbers[i], 1e-6f * (1 + naive.numbers[i])) << "number " << i + 1;
    }
  }
  for (int c = 0; c < kCriteoCategories; ++c) {
    ASSERT_EQ(batch.fields[1 + c].ids.ids[r], naive.ids[c]) << "category " << c + 1;
  }
  ASSERT_EQ(batch.fields[27].values[r], naive.label);
}

std::unique_ptr<CriteoParser> MakeCriteoParser(Numeric numeric = Numeric::kSeeds,
                                               uint64_t hash_dim = 1000001) {
  CriteoOptions options;
  options.numeric = numeric;
  options.hash_dim = hash_dim;
  StatusOr<std::unique_ptr<CriteoParser>> parser = CriteoParser::Make(CriteoInputs(), options);
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

Batch EmptyCriteoBatch() {
  Batch batch;
  batch.fields.resize(CriteoInputs().size());
  return batch;
}

// A good line; tests break one field of it.
std::vector<std::string> GoodFields() {
  std::vector<std::string> fields = {"1", "5", "-3", "",  "0", "64000", "1",
                                     "2", "3", "4",  "5", "",  "6",     "7"};
  for (int c = 1; c <= 26; ++c) fields.push_back(fmt::format("{:08x}", c * 0x9abcdefu));
  return fields;
}

std::string JoinFields(const std::vector<std::string>& fields) {
  std::string line = fields[0];
  for (size_t i = 1; i < fields.size(); ++i) line += "\t" + fields[i];
  return line;
}

void ExpectAllEqualNaive(const CriteoParser& parser, Numeric numeric, uint64_t hash_dim,
                         const std::vector<std::string>& lines) {
  Batch batch = EmptyCriteoBatch();
  for (const std::string& line : lines) {
    const Status status = parser.Parse(line, &batch);
    ASSERT_TRUE(status.ok()) << status << " in " << line;
  }
  ASSERT_TRUE(batch.Check(CriteoInputs()).ok());
  for (size_t r = 0; r < lines.size(); ++r) {
    ExpectRow(batch, r, NaiveParse(lines[r], numeric, hash_dim), numeric);
    if (::testing::Test::HasFatalFailure()) FAIL() << lines[r];
  }
}

TEST(CriteoParserTest, SyntheticRowsEqualTheNaiveParse) {
  StatusOr<SynthCriteo> synth = SynthCriteo::Make({.seed = 3});
  ASSERT_TRUE(synth.ok());
  std::vector<std::string> lines(500);
  for (size_t i = 0; i < lines.size(); ++i) synth->Row(i, &lines[i]);
  for (Numeric numeric : {Numeric::kSeeds, Numeric::kLog}) {
    ExpectAllEqualNaive(*MakeCriteoParser(numeric), numeric, 1000001, lines);
  }
}

TEST(CriteoParserTest, CategoriesOfEveryLengthEqualTheNaiveParse) {
  std::vector<std::string> lines;
  for (int length = 0; length <= 70; ++length) {
    std::vector<std::string> fields = GoodFields();
    for (int c = 14; c < 40; ++c) {
      fields[c] = std::string((length + c - 14) % 71, static_cast<char>('a' + length % 26));
    }
    lines.push_back(JoinFields(fields));
  }
  ExpectAllEqualNaive(*MakeCriteoParser(), Numeric::kSeeds, 1000001, lines);
}

TEST(CriteoParserTest, EveryHashDimGivesTheRemainder) {
  StatusOr<SynthCriteo> synth = SynthCriteo::Make({.seed = 4});
  ASSERT_TRUE(synth.ok());
  std::vector<std::string> lines(40);
  for (size_t i = 0; i < lines.size(); ++i) synth->Row(i, &lines[i]);
  for (uint64_t dim : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1} << 20, uint64_t{1000003},
                       (uint64_t{1} << 32) + 1, (uint64_t{1} << 63) - 1}) {
    ExpectAllEqualNaive(*MakeCriteoParser(Numeric::kSeeds, dim), Numeric::kSeeds, dim, lines);
  }
}

TEST(CriteoParserTest, HashOfAKnownValueNeverChanges) {
  // XXH64 of "1468fd1e64" and of "14", modulo 1000001, from an independent implementation.
  Batch batch = EmptyCriteoBatch();
  std::vector<std::string> fields = GoodFields();
  fields[14] = "68fd1e64";
  ASSERT_TRUE(MakeCriteoParser()->Parse(JoinFields(fields), &batch).ok());
  fields[14] = "";
  ASSERT_TRUE(MakeCriteoParser()->Parse(JoinFields(fields), &batch).ok());
  EXPECT_EQ(batch.fields[1].ids.ids[0], 525672u);
  EXPECT_EQ(batch.fields[1].ids.ids[1], 842679u);
}

TEST(CriteoParserTest, AFieldThatIsOneBlankIsMissing) {
  Batch empty = EmptyCriteoBatch(), blank = EmptyCriteoBatch();
  // A line with a blank number is walked field by field, and so are its categories.
  const std::vector<std::vector<int>> lines = {{1}, {7}, {13}, {14}, {20}, {39}, {1, 20}};
  for (const std::vector<int>& missing : lines) {
    for (auto [batch, value] : {std::pair(&empty, ""), std::pair(&blank, " ")}) {
      std::vector<std::string> fields = GoodFields();
      for (const int field : missing) fields[field] = value;
      const Status status = MakeCriteoParser()->Parse(JoinFields(fields), batch);
      ASSERT_TRUE(status.ok()) << "field " << missing[0] << ": " << status;
    }
  }
  EXPECT_EQ(blank.rows, 7);
  EXPECT_EQ(blank.fields[0].values, empty.fields[0].values);
  for (int c = 1; c <= 26; ++c) {
    EXPECT_EQ(blank.fields[c].ids.ids, empty.fields[c].ids.ids) << "C" << c;
  }
}

TEST(CriteoParserTest, BlankLinesAreNoRows) {
  Batch batch = EmptyCriteoBatch();
  for (const char* line : {"", " ", "   "})
    EXPECT_TRUE(MakeCriteoParser()->Parse(line, &batch).ok());
  EXPECT_EQ(batch.rows, 0);
  EXPECT_FALSE(MakeCriteoParser()->Parse("\t", &batch).ok());
}

TEST(CriteoParserTest, NumbersAreNormalisedAndMissingOnesAreZero) {
  Batch batch = EmptyCriteoBatch();
  ASSERT_TRUE(MakeCriteoParser()->Parse(JoinFields(GoodFields()), &batch).ok());
  const AlignedVector<float>& dense = batch.fields[0].values;
  EXPECT_EQ(dense[0], 0.25f);  // 5 / 20
  EXPECT_EQ(dense[1], 0.0f);   // (-3 - -3) / 603
  EXPECT_EQ(dense[2], 0.0f);   // missing
  EXPECT_EQ(dense[4], 1.0f);   // 64000 / 64000
}

TEST(CriteoParserTest, StatisticsScaleNumbersWithoutClipping) {
  CriteoOptions options{.numeric = CriteoOptions::Numeric::kStatistics};
  options.statistics.columns[0] = {.min = -2, .p95 = 8};
  options.statistics.columns[1] = {.min = 5, .p95 = 5};  // no spread: divided by 1
  const auto parser = CriteoParser::Make(CriteoInputs(), options);
  ASSERT_TRUE(parser.ok()) << parser.status();
  Batch batch;
  batch.fields.resize(CriteoInputs().size());
  for (const char* numbers : {"3\t7", "98\t5", "-2\t", "\t-1"}) {
    const std::string line = "1\t" + std::string(numbers) + std::string(37, '\t');
    const Status status = (*parser)->Parse(line, &batch);
    ASSERT_TRUE(status.ok()) << status;
  }
  const auto& dense = batch.fields[0].values;  // (4, 13)
  EXPECT_EQ(dense[0], 0.5f);
  EXPECT_EQ(dense[1], 2.0f);
  EXPECT_EQ(dense[13], 10.0f);
  EXPECT_EQ(dense[14], 0.0f);
  EXPECT_EQ(dense[26], 0.0f);
  EXPECT_EQ(dense[27], 0.0f);
  EXPECT_EQ(dense[39], 0.0f);
  EXPECT_EQ(dense[40], -6.0f);
}

TEST(CriteoParserTest, LogRecipeIsSafeForNegativeAndLargeNumbers) {
  std::vector<std::string> fields = GoodFields();
  fields[1] = "-1";
  fields[2] = "4095";
  fields[3] = "4096";
  fields[4] = "999999999999999999";
  ExpectAllEqualNaive(*MakeCriteoParser(Numeric::kLog), Numeric::kLog, 1000001,
                      {JoinFields(fields)});
}

TEST(CriteoParserTest, FieldsFollowTheOrderOfTheInputs) {
  std::vector<InputSpec> inputs = CriteoInputs();
  std::swap(inputs[0], inputs[27]);  // label first
  std::swap(inputs[1], inputs[2]);   // C2 before C1
  StatusOr<std::unique_ptr<CriteoParser>> parser = CriteoParser::Make(inputs, {});
  ASSERT_TRUE(parser.ok()) << parser.status();
  Batch plain = EmptyCriteoBatch(), swapped = EmptyCriteoBatch();
  ASSERT_TRUE(MakeCriteoParser()->Parse(JoinFields(GoodFields()), &plain).ok());
  ASSERT_TRUE((*parser)->Parse(JoinFields(GoodFields()), &swapped).ok());
  EXPECT_EQ(swapped.fields[0].values, plain.fields[27].values);
  EXPECT_EQ(swapped.fields[27].values, plain.fields[0].values);
  EXPECT_EQ(swapped.fields[1].ids.ids, plain.fields[2].ids.ids);
  EXPECT_EQ(swapped.fields[2].ids.ids, plain.fields[1].ids.ids);
}

TEST(CriteoParserTest, MakeRefusesOtherInputs) {
  auto error = [](const std::vector<InputSpec>& inputs) {
    return std::string(Message(CriteoParser::Make(inputs, {}).status()));
  };
  std::vector<InputSpec> inputs = CriteoInputs();
  inputs.pop_back();
  EXPECT_THAT(error(inputs), HasSubstr("input label is missing"));
  inputs = CriteoInputs();
  inputs[5].name = "C27";
  EXPECT_THAT(error(inputs), HasSubstr("input C27 is not one of"));
  inputs = CriteoInputs();
  inputs[0].width = 12;
  EXPECT_THAT(error(inputs), HasSubstr("input dense_input has another kind or width"));
  inputs = CriteoInputs();
  inputs[3].name = "C1";
  EXPECT_THAT(error(inputs), HasSubstr("duplicate input C1"));
  CriteoOptions options;
  options.hash_dim = 0;
  EXPECT_THAT(std::string(Message(CriteoParser::Make(CriteoInputs(), options).status())),
              HasSubstr("hash_dim 0"));
}

std::vector<BadLine> BadLines() {
  auto with = [](int field, const std::string& value) {
    std::vector<std::string> fields = GoodFields();
    fields[field] = value;
    return JoinFields(fields);
  };
  std::vector<std::string> few = GoodFields(), many = GoodFields();
  few.pop_back();
  many.push_back("x");
  const std::string good = JoinFields(GoodFields());
  return {
      {"1", "2: expected 40 fields separated by tabs, the line ends after 1 (label)"},
      {"1\t5", "4: expected 40 fields separated by tabs, the line ends after 2 (number I1)"},
      {with(0, "2"), "1: label: expected 0 or 1, found '2'"},
      {with(0, ""), "1: label: expected 0 or 1, found ''"},
      {with(0, "01"), "1: label: expected 0 or 1, found '01'"},
      {with(1, "abc"), "3: number I1: expected a whole number of at most 18 digits, found 'abc'"},
      {with(2, "-"), "5: number I2: expected a whole number"},
      {with(2, "1.5"), "5: number I2: expected a whole number"},
      {with(2, "1e3"), "5: number I2: expected a whole number"},
      {with(2, "nan"), "5: number I2: expected a whole number"},
      {with(2, " 1"), "5: number I2: expected a whole number"},
      {with(2, "1234567890123456789"), "5: number I2: expected a whole number of at most 18"},
      {with(2, std::string("\0", 1)),
       "5: number I2: expected a whole number of at most 18 digits, "
       "found '?'"},
      {JoinFields(few), fmt::format("{}: expected 40 fields separated by tabs, the line ends after "
                                    "39 (category C25)",
                                    JoinFields(few).size() + 1)},
      {JoinFields(many),
       fmt::format("{}: expected the end of the line after 40 fields", good.size() + 1)},
  };
}

TEST(CriteoParserTest, BadLineSaysColumnAndExpectationAndLeavesTheBatch) {
  ExpectBadRows(*MakeCriteoParser(), JoinFields(GoodFields()), BadLines());
}

TEST(CriteoParserTest, LineWithoutAnyValueIsGoodWhenItHasALabelAndAllTabs) {
  ExpectAllEqualNaive(*MakeCriteoParser(), Numeric::kSeeds, 1000001, {"0" + std::string(39, '\t')});
}

TEST(CriteoParserTest, RealRowsEqualTheNaiveParse) {
  const char* data = std::getenv("FLOTILLA_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "skipped: no data";
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(data) + "/criteo", error)) {
    if (entry.path().string().ends_with(".tsv.zst")) files.push_back(entry.path());
  }
  if (files.empty()) GTEST_SKIP() << "skipped: no data";
  const std::unique_ptr<CriteoParser> parser = MakeCriteoParser();
  LineReader reader(files);
  TextLines lines;
  Batch batch = EmptyCriteoBatch();
  int64_t rows = 0;
  while (true) {
    StatusOr<int64_t> taken = reader.Take(1000, &lines);
    ASSERT_TRUE(taken.ok()) << taken.status();
    if (*taken == 0) break;
    LineCursor cursor(lines);
    std::string_view line;
    while (cursor.Next(&line)) {
      batch.Clear();
      const Status status = parser->Parse(line, &batch);
      ASSERT_TRUE(status.ok()) << status << " in " << line;
      ExpectRow(batch, 0, NaiveParse(line, Numeric::kSeeds, 1000001), Numeric::kSeeds);
      if (HasFatalFailure()) FAIL() << line;
      ++rows;
    }
  }
  EXPECT_GT(rows, 1000);
}

}  // namespace
}  // namespace flotilla
