#include "flotilla/kernels/text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "flotilla/base/hash.h"
#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

class TextTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(TextTest);

// A text at the end of readable memory, with a tab at about every `gap`-th byte.
std::string_view MakeText(int64_t size, uint64_t gap, EdgeBuffer* memory) {
  char* text = reinterpret_cast<char*>(memory->data() + memory->size()) - size;
  for (int64_t i = 0; i < size; ++i) {
    text[i] = RngKey(gap).With(size).Below(i, gap) == 0 ? '\t' : static_cast<char>(i * 7 | 128);
  }
  return {text, static_cast<size_t>(size)};
}

TEST_P(TextTest, FindByteEqualsALoop) {
  for (int64_t size = 0; size < 300; ++size) {
    for (const uint64_t gap : {1, 2, 9, 1000}) {
      EdgeBuffer memory(75);
      const std::string_view text = MakeText(size, gap, &memory);
      std::vector<uint32_t> expected;
      for (int64_t i = 0; i < size; ++i) {
        if (text[i] == '\t') expected.push_back(i);
      }
      const auto count = static_cast<int64_t>(expected.size());
      std::vector<uint32_t> found(count + kPositionSlack);
      ASSERT_EQ(FindByte(text, '\t', count, found.data()), count) << size << " " << gap;
      found.resize(count);
      EXPECT_EQ(found, expected);
      if (count == 0) continue;
      found.resize(count - 1 + kPositionSlack);
      EXPECT_EQ(FindByte(text, '\t', count - 1, found.data()), -1);
    }
  }
}

// A line of fields with tabs around them, at the end of readable memory, and where the tabs are.
struct Line {
  explicit Line(const std::vector<std::string>& fields) : memory(200) {
    std::string joined = "\t";
    for (const std::string& field : fields) joined += field + "\t";
    char* at = reinterpret_cast<char*>(memory.data() + memory.size()) - joined.size();
    std::memcpy(at, joined.data(), joined.size());
    text = {at, joined.size()};
    for (uint32_t i = 0; i < joined.size(); ++i) {
      if (joined[i] == '\t') tabs.push_back(i);
    }
  }

  EdgeBuffer memory;
  std::string_view text;
  std::vector<uint32_t> tabs;
};

TEST_P(TextTest, FieldsOfEightBytesAreHashedByXxh64BehindTwo) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RngKey key(seed);
    const int n = 8 * static_cast<int>(1 + key.Below(0, 4));
    std::vector<std::string> fields(n);
    std::vector<uint64_t> twos(n), hashes(n);
    for (int i = 0; i < n; ++i) {
      const uint64_t size = key.Below(100 + i, 3) == 0 ? key.Below(200 + i, 12) : 8;
      for (uint64_t k = 0; k < size; ++k) fields[i] += static_cast<char>('!' + key.Below(k, 90));
      twos[i] = key.Below(300 + i, 1 << 16);
    }
    const Line line(fields);
    const uint32_t others =
        HashFieldsOfEight(line.text, line.tabs.data(), n, twos.data(), hashes.data());
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(others >> i & 1, fields[i].size() != 8) << "seed " << seed << " field " << i;
      if (fields[i].size() != 8) continue;
      std::string bytes(2, ' ');
      std::memcpy(bytes.data(), &twos[i], 2);
      EXPECT_EQ(hashes[i], HashBytes(bytes + fields[i]));
    }
  }
}

TEST_P(TextTest, ShortNumbersAreReadAndAllElseIsTold) {
  const std::vector<std::string> good = {"",    "0",   "7",       "-1",      "00",
                                         "42",  "-0",  "9999999", "-999999", "1234567",
                                         "-12", "305", "8",       "1000000", "-7"};
  const std::vector<std::string> bad = {"-",  "--1", "1-", "12345678", "-1234567", "a", " 1",
                                        "1 ", "+1",  "1.", "\xff",     "/",        ":", "0x1"};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RngKey key(seed);
    const int n = 16;
    std::vector<std::string> fields;
    for (int i = 0; i < n; ++i) {
      const auto& from = key.Below(i, 4) == 0 ? bad : good;
      fields.push_back(from[key.Below(100 + i, from.size())]);
    }
    std::vector<std::string> with_more = fields;
    with_more.push_back("behind them");
    const Line line(with_more);
    std::vector<int32_t> values(n);
    const uint32_t others = ReadShortNumbers(line.text, line.tabs.data(), n, values.data());
    for (int i = 0; i < n; ++i) {
      const bool is_good = std::find(good.begin(), good.end(), fields[i]) != good.end();
      ASSERT_EQ(others >> i & 1, !is_good) << "seed " << seed << " field '" << fields[i] << "'";
      if (!is_good) continue;
      EXPECT_EQ(values[i], std::atoi(fields[i].c_str())) << fields[i];
    }
  }
}

TEST_P(TextTest, AFieldTooCloseToTheEndIsNotReadAsANumber) {
  const Line line(std::vector<std::string>(16, "12"));
  std::vector<int32_t> values(16);
  const uint32_t others = ReadShortNumbers(line.text, line.tabs.data(), 16, values.data());
  EXPECT_EQ(others, 0b1100000000000000u);  // five and two bytes from the end
}

}  // namespace
}  // namespace flotilla::kernels
