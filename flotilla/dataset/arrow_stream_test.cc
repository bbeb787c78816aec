#include "flotilla/dataset/arrow_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"
#include "flotilla/dataset/row_text.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A column of a test stream. The buffers are used as they are.
struct TestColumn {
  std::string name, format;
  std::vector<std::vector<char>> buffers = {};  // the first: validity; empty: null
  std::vector<TestColumn> children = {};
  std::vector<TestColumn> dictionary = {};
  int64_t length = 0, offset = 0;
};

template <typename T>
std::vector<char> BytesOf(const std::vector<T>& values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
TestColumn NumberColumn(const std::string& name, const std::string& format, std::vector<T> values,
                        std::vector<char> validity = {}) {
  const auto length = static_cast<int64_t>(values.size());
  return {.name = name, .format = format, .buffers = {validity, BytesOf(values)}, .length = length};
}

template <typename Offset>
TestColumn TextColumn(const std::string& name, const std::string& format,
                      const std::vector<std::string>& values, std::vector<char> validity = {}) {
  std::vector<Offset> offsets = {0};
  std::vector<char> text;
  for (const std::string& value : values) {
    text.insert(text.end(), value.begin(), value.end());
    offsets.push_back(static_cast<Offset>(text.size()));
  }
  return {.name = name,
          .format = format,
          .buffers = {validity, BytesOf(offsets), text},
          .length = static_cast<int64_t>(values.size())};
}

// Makes record batches of the same columns, and counts what is not released.
class TestStream {
 public:
  TestStream(std::vector<TestColumn> columns, int batches)
      : root_{.format = "+s", .buffers = {{}}, .children = std::move(columns)}, left_(batches) {
    root_.length = root_.children.empty() ? 0 : root_.children[0].length;
    for (TestColumn& each : root_.children) root_.length = std::min(root_.length, each.length);
    stream_ = {.get_schema = &GetSchema,
               .get_next = &GetNext,
               .get_last_error = [](ArrowArrayStream*) { return "the disk is on fire"; },
               .release =
                   [](ArrowArrayStream* stream) {
                     --static_cast<TestStream*>(stream->private_data)->live_;
                     stream->release = nullptr;
                   },
               .private_data = this};
    live_ = 1;
  }
  ~TestStream() { EXPECT_EQ(live_, 0) << "everything is released once"; }

  ArrowArrayStream* get() { return &stream_; }
  void FailAtTheEnd() { fail_ = true; }

 private:
  static int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
    auto* const self = static_cast<TestStream*>(stream->private_data);
    self->Fill(self->root_, out);
    return 0;
  }
  static int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
    auto* const self = static_cast<TestStream*>(stream->private_data);
    if (self->left_-- == 0) {
      out->release = nullptr;
      return self->fail_ ? EIO : 0;
    }
    self->Fill(self->root_, out);
    return 0;
  }

  template <typename T>
  T** Children(const std::vector<TestColumn>& columns, std::vector<std::unique_ptr<T>>* made) {
    auto pointers = std::make_shared<std::vector<T*>>();
    for (const TestColumn& each : columns) {
      made->push_back(std::make_unique<T>());
      pointers->push_back(made->back().get());
      Fill(each, pointers->back());
      if (made == nullptr) break;
    }
    kept_.push_back(pointers);
    return pointers->data();
  }
  template <typename T>
  static void Release(T* value) {
    --static_cast<TestStream*>(value->private_data)->live_;
    value->release = nullptr;
  }
  void Fill(const TestColumn& column, ArrowSchema* out) {
    *out = {.format = column.format.c_str(),
            .name = column.name.c_str(),
            .n_children = static_cast<int64_t>(column.children.size()),
            .children = Children(column.children, &schemas_),
            .release = nullptr,
            .private_data = this};
    if (!column.dictionary.empty()) out->dictionary = *Children(column.dictionary, &schemas_);
    if (&column == &root_) ++live_, out->release = &Release<ArrowSchema>;
  }
  void Fill(const TestColumn& column, ArrowArray* out) {
    auto buffers = std::make_shared<std::vector<const void*>>();
    for (const auto& each : column.buffers) {
      buffers->push_back(each.empty() ? nullptr : each.data());
    }
    kept_.push_back(buffers);
    const bool nulls = !column.buffers.empty() && !column.buffers[0].empty();
    *out = {.length = column.length,
            .null_count = nulls ? -1 : 0,
            .offset = column.offset,
            .n_buffers = static_cast<int64_t>(buffers->size()),
            .n_children = static_cast<int64_t>(column.children.size()),
            .buffers = buffers->data(),
            .children = Children(column.children, &arrays_),
            .release = nullptr,
            .private_data = this};
    if (!column.dictionary.empty()) out->dictionary = *Children(column.dictionary, &arrays_);
    if (&column == &root_) ++live_, out->release = &Release<ArrowArray>;
  }

  TestColumn root_;
  int left_;
  bool fail_ = false;
  int live_ = 0;
  ArrowArrayStream stream_;
  std::vector<std::unique_ptr<ArrowSchema>> schemas_;
  std::vector<std::unique_ptr<ArrowArray>> arrays_;
  std::vector<std::shared_ptr<void>> kept_;
};

// Bits from the lowest on.
std::vector<char> BitBytes(std::initializer_list<int> bits) {
  std::vector<char> bytes(bits.size() / 8 + 1);
  size_t i = 0;
  for (const int bit : bits) bytes[i / 8] = static_cast<char>(bytes[i / 8] | bit << i % 8), ++i;
  return bytes;
}

TestColumn ListColumn() {
  TestColumn lists{.name = "bag", .format = "+l", .length = 3};
  lists.buffers = {BitBytes({1, 0, 1}), BytesOf(std::vector<int32_t>{0, 2, 2, 3})};
  lists.children = {NumberColumn<uint32_t>("item", "I", {7, 8, 9})};
  return lists;
}

std::vector<TestColumn> AllColumns() {
  TestColumn coded = NumberColumn<int8_t>("kind", "c", {1, 0, 1}, BitBytes({1, 1, 0}));
  coded.dictionary = {TextColumn<int64_t>("", "U", {"a,b", "c\"d"})};
  TestColumn flags{
      .name = "flag", .format = "b", .buffers = {{}, BitBytes({1, 0, 1})}, .length = 3};
  TestColumn views{.name = "view", .format = "vu", .length = 3};
  std::vector<char> cells(48);
  const std::string shown = "short", hidden = "a text of more than twelve bytes";
  const auto put = [&](int row, int32_t size) { std::memcpy(&cells[row * 16], &size, 4); };
  put(0, 5), std::memcpy(&cells[4], shown.data(), 5);
  put(1, static_cast<int32_t>(hidden.size()));
  views.buffers = {{}, cells, {hidden.begin(), hidden.end()}, BytesOf(std::vector<int64_t>{32})};
  return {NumberColumn<int64_t>("id", "l", {-1, 5, 1LL << 40}),
          NumberColumn<uint64_t>("big", "L", {1, 2, ~uint64_t{0}}),
          NumberColumn<double>("price", "g", {0.5, 2, 0}, BitBytes({1, 1, 0})),
          TextColumn<int32_t>("name", "u", {"x", "", "y\nz"}, BitBytes({1, 1, 1})),
          coded,
          flags,
          views,
          ListColumn()};
}

TEST(ArrowStreamTest, WritesEveryTypeAsCsv) {
  TempDir dir;
  TestStream stream(AllColumns(), 2);
  const std::string path = dir.path() + "/rows.csv";
  const Status status = WriteArrowCsv(stream.get(), path);
  ASSERT_TRUE(status.ok()) << status;
  const std::string rows =
      "-1,1,0.5,x,\"c\"\"d\",True,short,7|8\n"
      "5,2,2,,\"a,b\",False,a text of more than twelve bytes,\n"
      "1099511627776,18446744073709551615,,\"y z\",,True,,9\n";
  EXPECT_EQ(*ReadWholeFile(path, 10000), "id,big,price,name,kind,flag,view,bag\n" + rows + rows);
}

const std::vector<InputSpec> kArrowInputs = {{"bag", InputKind::kIds},
                                             {"one", InputKind::kIds},
                                             {"x", InputKind::kDense, 2},
                                             {"y", InputKind::kLabel}};

// The columns of kArrowInputs, and one that nobody reads.
std::vector<TestColumn> InputColumns() {
  TestColumn pairs{.name = "x", .format = "+w:2", .buffers = {{}}, .length = 3};
  pairs.children = {NumberColumn<float>("item", "f", {1, 2, 3, 4, 5, 6})};
  return {NumberColumn<int64_t>("when", "tsu:UTC", {1, 2, 3}), ListColumn(),
          NumberColumn<int16_t>("one", "s", {4, 5, 6}), pairs,
          NumberColumn<uint8_t>("y", "C", {0, 1, 1})};
}

StatusOr<std::vector<std::string>> ReadArrow(TestStream& stream) {
  FL_ASSIGN_OR_RETURN(const RowGenerator next, MakeArrowGenerator(stream.get(), kArrowInputs));
  std::vector<std::string> rows;
  while (true) {
    Batch batch{.fields = std::vector<Field>(kArrowInputs.size())};
    FL_ASSIGN_OR_RETURN(const bool more, next(&batch));
    if (!more) return rows;
    FL_RETURN_IF_ERROR(batch.Check(kArrowInputs));
    for (int64_t row = 0; row < batch.rows; ++row)
      rows.push_back(RowText(kArrowInputs, batch, row));
  }
}

TEST(ArrowStreamTest, ReadsTheColumnsOfInputsByName) {
  TestStream stream(InputColumns(), 1);
  const auto rows = ReadArrow(stream);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, ElementsAre("bag=7,8 one=4 x=1,2 y=0", "bag= one=5 x=3,4 y=1",
                                 "bag=9 one=6 x=5,6 y=1"));
}

TEST(ArrowStreamTest, SlicesBeginAtTheirOffsets) {
  std::vector<TestColumn> columns = InputColumns();
  for (TestColumn& column : columns) column.offset = 1, column.length = 2;
  columns[3].children[0].offset = 0;
  TestStream stream(columns, 2);
  const auto rows = ReadArrow(stream);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, ElementsAre("bag= one=5 x=3,4 y=1", "bag=9 one=6 x=5,6 y=1",
                                 "bag= one=5 x=3,4 y=1", "bag=9 one=6 x=5,6 y=1"));
}

TEST(ArrowStreamTest, ErrorsNameTheColumnAndWhatToDo) {
  const auto error = [](size_t column, TestColumn with) {
    std::vector<TestColumn> columns = InputColumns();
    columns[column] = std::move(with);
    TestStream stream(columns, 2);
    return std::string(ReadArrow(stream).status().message());
  };
  EXPECT_THAT(error(2, TextColumn<int32_t>("one", "u", {"a", "b", "c"})),
              HasSubstr("column one is of the type utf8: ids are whole numbers or lists of them; "
                        "cast the column"));
  EXPECT_THAT(error(2, NumberColumn<int16_t>("one", "s", {4, -5, 6})),
              HasSubstr("column one: -5 in row 1 is negative"));
  EXPECT_THAT(error(2, NumberColumn<int16_t>("ones", "s", {4, 5, 6})),
              HasSubstr("input one: the stream has no column of that name, only when, bag, ones"));
  EXPECT_THAT(error(4, NumberColumn<float>("y", "f", {0, 1, 0}, BitBytes({1, 1, 0}))),
              HasSubstr("column y: row 2 is null: fill the column or leave the row out"));
  EXPECT_THAT(error(4, NumberColumn<int64_t>("y", "tsu:UTC", {0, 1, 0})),
              HasSubstr("column y is of the type timestamp: numbers expected; cast the column"));
  EXPECT_THAT(error(3, NumberColumn<float>("x", "f", {0, 1, 0})),
              HasSubstr("column x: row 0 has 1 numbers, the input has 2"));
  TempDir dir;
  TestStream dates(InputColumns(), 1);
  EXPECT_THAT(std::string(WriteArrowCsv(dates.get(), dir.path() + "/rows.csv").message()),
              HasSubstr("column when is of the type timestamp, which is not read: cast it"));
}

TEST(ArrowStreamTest, TheProducersErrorIsReported) {
  TestStream stream(InputColumns(), 1);
  stream.FailAtTheEnd();
  EXPECT_EQ(ReadArrow(stream).status().message(), "Arrow: the disk is on fire");
  EXPECT_THAT(std::string(ReadArrow(stream).status().message()), HasSubstr("was read already"));
}

}  // namespace
}  // namespace flotilla
