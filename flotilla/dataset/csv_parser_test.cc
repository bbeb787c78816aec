#include "flotilla/dataset/csv_parser.h"

#include <cmath>

#include "flotilla/base/hash.h"
#include "flotilla/base/rng.h"
#include "flotilla/dataset/parser_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<CsvParser> MakeCsvParser(std::string_view text) {
  StatusOr<Schema> schema = Schema::FromText(text);
  EXPECT_TRUE(schema.ok()) << schema.status();
  StatusOr<std::unique_ptr<CsvParser>> parser = CsvParser::Make(schema->Inputs(), *schema);
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

// Hash of "column=value".
uint64_t HashOf(const std::string& text, uint64_t hash_dim = 1000001) {
  const size_t equals = text.find('=');
  return HashBytes(text.substr(equals + 1), HashBytes(text.substr(0, equals))) % hash_dim;
}

TEST(CsvParserTest, ColumnsFillTheirInputs) {
  const auto parser =
      MakeCsvParser("age:dense city:id zip:id(number) tags:bag(number) -*2 click:label");
  EXPECT_EQ(RowOf(*parser, "1.5,Rome,100,7|8|9,x,y,1"),
            fmt::format("age=1.5 city={} zip=100 tags=7,8,9 click=1", HashOf("city=Rome")));
}

TEST(CsvParserTest, MissingIsZeroTheEmptyStringOrAnEmptyBag) {
  const auto parser =
      MakeCsvParser("missing=?,NA age:dense city:id zip:id(number) tags:bag click:label");
  const std::string expected = fmt::format("age=0 city={} zip=0 tags= click=0", HashOf("city="));
  EXPECT_THAT(RowsOf(*parser, {",,,,0", "?,NA,?,NA,0", "\"\",\"\",\"\",\"\",0"}),
              ElementsAre(expected, expected, expected));
}

TEST(CsvParserTest, NumbersAreScaledInDoublePrecision) {
  const auto parser = MakeCsvParser(
      "a:dense(input=x,min=-3,diff=603) b:dense(input=x,log) c:dense(input=x) d:dense(input=x)");
  EXPECT_EQ(RowOf(*parser, "123456789,7,-5e-1,+3"),
            fmt::format("x={:.9g},{:.9g},-0.5,3", static_cast<float>((123456789.0 + 3) / 603),
                        static_cast<float>(std::log1p(7.0))));
  EXPECT_EQ(RowOf(*parser, "-3,-7,0,16777217"), "x=0,0,0,16777216");
}

TEST(CsvParserTest, SeveralIdColumnsOfOneInputAreABag) {
  const auto parser = MakeCsvParser("a:id(input=x) b:bag(input=x,separator=space) c:id(number)");
  EXPECT_EQ(RowOf(*parser, "1,2 3 2,4"), fmt::format("x={},{},{},{} c=4", HashOf("a=1"),
                                                     HashOf("b=2"), HashOf("b=3"), HashOf("b=2")));
  Batch batch = EmptyBatchFor(*parser);
  ASSERT_TRUE(parser->Parse("1,,4", &batch).ok());
  EXPECT_FALSE(batch.fields[0].ids.one_per_row());
  EXPECT_TRUE(batch.fields[1].ids.one_per_row());
}

TEST(CsvParserTest, SameValueInOtherColumnsHasOtherIds) {
  const auto parser = MakeCsvParser("hash_dim=4611686018427387904 C1:id C11:id");
  Batch batch = EmptyBatchFor(*parser);
  ASSERT_TRUE(parser->Parse("15,5", &batch).ok());
  EXPECT_NE(batch.fields[0].ids.ids[0], batch.fields[1].ids.ids[0]);
  EXPECT_EQ(batch.fields[0].ids.ids[0], HashOf("C1=15", uint64_t{1} << 62));
}

TEST(CsvParserTest, LongValuesHashLikeShortOnes) {
  const auto parser = MakeCsvParser("a:id");
  for (const size_t length : {253, 254, 255, 256, 257, 10000}) {
    const std::string value(length, 'v');
    EXPECT_EQ(RowOf(*parser, value), fmt::format("a={}", HashOf("a=" + value)));
  }
}

TEST(CsvParserTest, ValuesOfABagAreNeverMissing) {
  const auto parser = MakeCsvParser("missing=?,7 a:bag b:bag(number)");
  EXPECT_EQ(RowOf(*parser, "x|?|NaN,1|7"),
            fmt::format("a={},{},{} b=1,7", HashOf("a=x"), HashOf("a=?"), HashOf("a=NaN")));
  EXPECT_EQ(RowOf(*parser, "?,7"), "a= b=");
}

TEST(CsvParserTest, QuotedFieldsFollowTheStandard) {
  const auto parser = MakeCsvParser("a:id b:dense c:label");
  EXPECT_THAT(
      RowsOf(*parser, {R"("x,y",1,0)", R"("say ""hi""","2.5","1")", R"("""",0,0)", R"(a"b,0,0)"}),
      ElementsAre(fmt::format("a={} b=1 c=0", HashOf("a=x,y")),
                  fmt::format("a={} b=2.5 c=1", HashOf("a=say \"hi\"")),
                  fmt::format("a={} b=0 c=0", HashOf("a=\"")),
                  fmt::format("a={} b=0 c=0", HashOf("a=a\"b"))));
  EXPECT_EQ(RowOf(*MakeCsvParser("quotes=no a:id b:dense c:label"), "\"x\",1,0"),
            fmt::format("a={} b=1 c=0", HashOf("a=\"x\"")));
}

TEST(CsvParserTest, BlanksAreTrimmedWhenTold) {
  const auto parser =
      MakeCsvParser("trim=yes missing=? a:id b:dense tags:bag(separator=semicolon) c:label");
  EXPECT_THAT(RowsOf(*parser, {" x y , 1.5\t, u ; v ;, 1", "\"x y\" , ? , ,1 ", "  \t", ""}),
              ElementsAre(fmt::format("a={} b=1.5 tags={},{} c=1", HashOf("a=x y"),
                                      HashOf("tags=u"), HashOf("tags=v")),
                          fmt::format("a={} b=0 tags= c=1", HashOf("a=x y"))));
  EXPECT_EQ(RowOf(*MakeCsvParser("a:id"), " x"), fmt::format("a={}", HashOf("a= x")));
}

TEST(CsvParserTest, LineOfDelimitersIsARowAlsoWhenTheyAreBlanks) {
  const auto parser = MakeCsvParser("delimiter=tab trim=yes a:dense b:dense c:dense");
  EXPECT_THAT(RowsOf(*parser, {"\t\t", " 1\t \t3", ""}), ElementsAre("a=0 b=0 c=0", "a=1 b=0 c=3"));
}

TEST(CsvParserTest, ClassesHaveSpellings) {
  const auto parser = MakeCsvParser("y:label(<=50K|<=50K.,>50K|>50K.)");
  EXPECT_THAT(RowsOf(*parser, {"<=50K", ">50K.", "<=50K.", ">50K"}),
              ElementsAre("y=0", "y=1", "y=0", "y=1"));
  ExpectBadRows(*parser, ">50K", {{"1", "1: column y: expected one of the 2 labels "}});
}

TEST(CsvParserTest, FurtherColumnsAreIgnoredWhenTold) {
  EXPECT_THAT(RowsOf(*MakeCsvParser("a:dense -*"), {"1", "2,x", "3,\"x", "4,,"}),
              ElementsAre("a=1", "a=2", "a=3", "a=4"));
}

TEST(CsvParserTest, HeaderSaysWhereTheColumnsAre) {
  const auto parser = MakeCsvParser("header=yes trim=yes age:dense city:id click:label");
  EXPECT_EQ(parser->header_lines(), 1);
  EXPECT_EQ(MakeCsvParser("a:id")->header_lines(), 0);
  ASSERT_TRUE(parser->CheckHeader("click, extra, \"city\",age, more").ok());
  EXPECT_EQ(parser->TakeNote(), "ignored columns, which the schema does not list: extra, more");
  EXPECT_EQ(parser->TakeNote(), "");
  EXPECT_EQ(RowOf(*parser, "1,x,Rome,5,y"),
            fmt::format("age=5 city={} click=1", HashOf("city=Rome")));
  ExpectBadRows(*parser, "1,x,Rome,5,y",
                {{"1,x,Rome,old,y", "10: column age: expected a number, found 'old'"},
                 {"1,x,Rome,5", "11: expected 5 columns, the line ends after 4"},
                 {"1,x,Rome,5,y,z", "14: expected the end of the line after 5 columns"},
                 {"click, extra, \"city\",age, more",
                  "1: the header again, 'click, extra, \"city\",age, more': remove the line"}});
  EXPECT_TRUE(parser->CheckHeader("click,other,city,age,names").ok());
  EXPECT_THAT(std::string(Message(parser->CheckHeader("age,click,city"))),
              HasSubstr("1: the columns stand in another order than in the first file"));
}

TEST(CsvParserTest, ColumnsWithoutANameAreIgnored) {
  const auto parser = MakeCsvParser("header=yes age:dense click:label");
  ASSERT_TRUE(parser->CheckHeader(",age,click,,").ok());
  EXPECT_EQ(parser->TakeNote(),
            "ignored columns, which the schema does not list: (without a name), (without a name), "
            "(without a name)");
  EXPECT_EQ(RowOf(*parser, "0,5,1,,"), "age=5 click=1");
}

TEST(CsvParserTest, HeaderThatLacksAColumnOrHasOneTwiceIsRefused) {
  const auto parser = MakeCsvParser("header=yes age:dense - city:id");
  auto error = [&](std::string_view line) {
    return std::string(Message(parser->CheckHeader(line)));
  };
  EXPECT_EQ(
      error("age,x,town"),
      "1: the file has no column 'city', which the schema lists; its columns are age, x, town");
  EXPECT_THAT(error("1,2,3"), HasSubstr("the file has no column 'age'"));
  EXPECT_EQ(
      error("age;x;city"),
      "1: the file has no column 'age', which the schema lists; its columns are age;x;city (the "
      "schema separates columns by ',')");
  EXPECT_EQ(error("age,city,age"), "10: the header names two columns 'age'");
  EXPECT_EQ(error("age,x,city,more"), "");
  EXPECT_EQ(parser->TakeNote(), "");  // the schema ignores columns on purpose
}

TEST(CsvParserTest, ColumnsOfLabelWeightAndGroupMayBeAbsentWhenTheyAreNotAskedFor) {
  const std::vector<InputSpec> inputs = {{"numbers", InputKind::kDense, 2}};
  const Schema named = *Schema::FromText("header=yes a:number y:label w:weight b:number");
  const auto by_name = *CsvParser::Make(inputs, named);
  ASSERT_TRUE(by_name->CheckHeader("b,a").ok());
  EXPECT_EQ(RowOf(*by_name, "1,2"), "numbers=2,1");
  EXPECT_THAT(*AbsentInputs(named, "b,y,a"), ElementsAre("w"));
  EXPECT_FALSE((*CsvParser::Make(named.Inputs(), named))->CheckHeader("b,a").ok());

  const Schema placed = *Schema::FromText("a:number y:label w:weight b:number");
  const auto by_place = *CsvParser::Make(inputs, placed);
  EXPECT_THAT(RowsOf(*by_place, {"1,2", "1,x,y,2"}), ElementsAre("numbers=1,2", "numbers=1,2"));
  ExpectBadRows(*by_place, "1,2",
                {{"1,2,3", "6: expected 4 columns, the line ends after 3"},
                 {"x,2", "1: column a: expected a number"},
                 {"1,x", "3: column b: expected a number"}});
}

TEST(CsvParserTest, AbsentInputsAreFilledAndTheirColumnsNotNeeded) {
  const Schema schema = *Schema::FromText("header=yes a:number y:label w:weight");
  const FittedSchema fitted = *FittedSchema::Make(schema, std::nullopt);
  const auto parser = *CsvParser::Make(schema.Inputs(), fitted, {.absent = {"y", "w"}});
  ASSERT_TRUE(parser->CheckHeader("z,a").ok());
  EXPECT_EQ(RowOf(*parser, "1,2"), "numbers=2 y=0 w=1");
  EXPECT_EQ(parser->identity(), fitted.identity() + " absent=y,w");
}

TEST(CsvParserTest, KeptColumnsStayWithTheirRows) {
  const Schema schema = *Schema::FromText("id:keep a:number \"other id\":keep+dense");
  const FittedSchema fitted = *FittedSchema::Make(schema, std::nullopt);
  const auto kept = std::make_shared<KeptTexts>();
  const auto parser = *CsvParser::Make(schema.Inputs(), fitted, {.absent = {}, .kept = kept});
  EXPECT_THAT(parser->KeptNames(), ElementsAre("id", "other id"));
  ASSERT_EQ(parser->inputs().size(), 3u);
  Batch batch = EmptyBatchFor(*parser);
  EXPECT_TRUE(parser->Parse("\"a\"\"b\tc\",1,7", &batch).ok());
  EXPECT_FALSE(parser->Parse("bad,x,7", &batch).ok());
  EXPECT_TRUE(parser->Parse("", &batch).ok());
  EXPECT_TRUE(parser->Parse(",2,8", &batch).ok());
  ASSERT_TRUE(batch.Check(parser->inputs()).ok());
  ASSERT_EQ(batch.rows, 2);
  std::vector<std::string> texts;
  std::vector<uint64_t> keys = batch.fields[2].ids.ids;
  std::swap(keys[0], keys[1]);
  kept->Take(keys, &texts);
  EXPECT_THAT(texts, ElementsAre("\t8", "a\"b c\t7"));
  EXPECT_EQ(kept->Add("x"), keys[1]) << "memory is used again";
  EXPECT_EQ(parser->identity(), fitted.identity() + " kept");
}

TEST(CsvParserTest, BadLineSaysColumnAndExpectationAndLeavesTheBatch) {
  const std::string long_word(100, 'x');
  ExpectBadRows(
      *MakeCsvParser("a:dense b:bag c:id(number) d:label"), "1.5,x|y,7,1",
      {{"1", "2: expected 4 columns, the line ends after 1"},
       {"1,x,7", "6: expected 4 columns, the line ends after 3"},
       {"1,x,7,1,", "9: expected the end of the line after 4 columns"},
       {"1,x,7,1,5", "9: expected the end of the line after 4 columns"},
       {"x,x,7,1", "1: column a: expected a number, found 'x'"},
       {"1.5x,x,7,1", "1: column a: expected a number, found '1.5x'"},
       {" 1,x,7,1", "1: column a: expected a number"},
       {"-inf,x,7,1", "1: column a: expected a number"},
       {"1e39,x,7,1", "1: column a: expected a number"},
       {"-1e38,x,7,1", "1: column a: expected a number, found '-1e38' (too large: its square"},
       {"1e999,x,7,1", "1: column a: expected a number"},
       {std::string("1\0,x,7,1", 8),
        "1: column a: expected a number, found "
        "'1?'"},
       {"1,x,seven,1", "5: column c: expected a whole number below 2^64, found 'seven'"},
       {"1,x,-7,1", "5: column c: expected a whole number below 2^64, found '-7'"},
       {"1,x,18446744073709551616,1", "5: column c: expected a whole number below 2^64"},
       {"1,x,7,", "7: column d: the label is missing; --max_bad_rows N skips up to N such rows"},
       {"1,x,7,-1", "7: column d: expected a whole number of at most 16777216, found '-1'"},
       {"1,x,7,0.5", "7: column d: expected a whole number"},
       {"1,x,7," + long_word, "7: column d: expected a whole number of at most 16777216, found '" +
                                  long_word.substr(0, 40) + "..'"},
       {"1,\"x,7,1", "3: the quote is not closed on its line"},
       {"1,\"x\"\",7,1", "3: the quote is not closed on its line"},
       {"1,\"x\"y,7,1", "6: expected ',' after the closing quote, found 'y,7,1'"},
       {"1,x,7,1\r", "7: column d: expected a whole number of at most 16777216, found '1?'"}});
  ExpectBadRows(*MakeCsvParser("tags:bag(number)"), "1|2",
                {{"1|2|x", "5: column tags: expected a whole number below 2^64, found 'x'"}});
  ExpectBadRows(*MakeCsvParser("a:dense(diff=1e-30)"), "0",
                {{"1e10",
                  "1: column a: expected a number, found '1e10' (too large: its square must fit "
                  "float32)"}});
}

TEST(CsvParserTest, RandomRowsEqualTheNaiveParse) {
  const auto parser = MakeCsvParser("n:dense city:id tags:bag - y:label");
  const RngKey key = RngKey(9).With("rows");
  const std::string letters = "ab\"c,d |";
  auto word = [&](uint64_t draw) {
    std::string text;
    for (uint64_t i = key.Below(draw, 9); i > 0; --i) {
      text += letters[key.With(draw).Below(i, letters.size())];
    }
    return text;
  };
  auto quoted = [](const std::string& text) {
    std::string all = "\"";
    for (const char c : text) all += c == '"' ? std::string("\"\"") : std::string(1, c);
    return all + "\"";
  };
  std::vector<std::string> lines, expected;
  for (uint64_t row = 0; row < 2000; ++row) {
    const std::string number = fmt::format("{:.6g}", key.Below(5 * row, 1 << 20) / 77.0);
    const std::string city = word(5 * row + 1), tags = word(5 * row + 2),
                      label = std::to_string(row % 3);
    lines.push_back(number + "," + quoted(city) + "," + quoted(tags) + "," + quoted(city) + "," +
                    label);
    std::string ids, tag;
    for (const char c : tags + "|") {
      if (c != '|') {
        tag += c;
      } else if (!tag.empty()) {
        ids += fmt::format("{}{}", ids.empty() ? "" : ",", HashOf("tags=" + tag));
        tag.clear();
      }
    }
    expected.push_back(fmt::format("n={:.9g} city={} tags={} y={}",
                                   static_cast<float>(std::stod(number)), HashOf("city=" + city),
                                   ids, label));
  }
  EXPECT_EQ(RowsOf(*parser, lines), expected);
}

TEST(CsvParserTest, MakeRefusesInputsThatNoColumnFills) {
  const Schema schema = *Schema::FromText("a:dense(input=x) b:dense(input=x) c:id");
  auto error = [&](const std::vector<InputSpec>& inputs) {
    return std::string(Message(CsvParser::Make(inputs, schema).status()));
  };
  const InputSpec x = {"x", InputKind::kDense, 2}, c = {"c", InputKind::kIds, 1};
  EXPECT_EQ(error({c, x}), "");
  EXPECT_THAT(error({x}), HasSubstr("column c: the model has no input c"));
  EXPECT_THAT(error({x, c, {"d", InputKind::kIds, 1}}), HasSubstr("no column fills input d"));
  EXPECT_THAT(error({c, {"x", InputKind::kDense, 3}}),
              HasSubstr("input x has another kind or width than its 2 columns"));
  Schema broken = schema;
  broken.hash_dim = 0;
  EXPECT_THAT(std::string(Message(CsvParser::Make(std::vector{x, c}, broken).status())),
              StartsWith("csv: schema: hash_dim 0"));
}

TEST(CsvParserTest, IdentityHasTheWholeSchema) {
  EXPECT_EQ(MakeCsvParser("a:id")->identity(), MakeCsvParser("a:id")->identity());
  EXPECT_NE(MakeCsvParser("a:id")->identity(), MakeCsvParser("hash_dim=5 a:id")->identity());
}

}  // namespace
}  // namespace flotilla
