#include "flotilla/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

std::string HeadOf(const std::string& json) {
  const uint64_t length = json.size();
  std::string head(sizeof(length), '\0');
  std::memcpy(head.data(), &length, sizeof(length));
  return head + json;
}

// The error of a header that is followed by `data` bytes of data.
std::string ErrorOf(const std::string& json, int64_t data) {
  const std::string head = HeadOf(json);
  return std::string(
      Message(ParseSafetensors(head, static_cast<int64_t>(head.size()) + data).status()));
}

TEST(SafetensorsTest, WhatIsLaidIsParsed) {
  SafetensorsHeader header;
  header.tensors = {
      {"ids", "U64", {5}}, {"none", "F32", {0, 3}}, {"w", "F32", {5, 3}}, {"x", "U8", {}}};
  const auto start = header.Lay({{"table", "emb"}});
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->size() % 64, 0);
  EXPECT_EQ(header.file_bytes, static_cast<int64_t>(start->size()) + 40 + 60 + 1);
  EXPECT_EQ(header.Find("w")->offset, static_cast<int64_t>(start->size()) + 40);
  const auto parsed = ParseSafetensors(*start, header.file_bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->tensors, header.tensors);
  EXPECT_EQ(parsed->Find("y"), nullptr);
}

TEST(SafetensorsTest, AHeaderThatIsLongerThanItsFileIsRefused) {
  const std::string head = HeadOf("{}");
  EXPECT_TRUE(SafetensorsHeaderEnd(head, 10).ok());
  EXPECT_FALSE(SafetensorsHeaderEnd(head, 9).ok());
  EXPECT_FALSE(SafetensorsHeaderEnd(head.substr(0, 7), 10).ok());
  EXPECT_FALSE(SafetensorsHeaderEnd(std::string(8, '\xff'), int64_t{1} << 60).ok());
}

TEST(SafetensorsTest, TensorsThatDoNotFillTheFileAreRefused) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(ErrorOf(good, 8), "");
  EXPECT_THAT(ErrorOf(good, 9), HasSubstr("tensors end at offset"));
  EXPECT_THAT(ErrorOf(good, 7), HasSubstr("a.data_offsets: not a range inside the file"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
              HasSubstr("tensor a: 8 bytes do not match its dtype and shape"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"Q3","shape":[2],"data_offsets":[0,8]}})", 8),
              HasSubstr("tensor a: 8 bytes do not match its dtype"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                          "b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                      7),
              HasSubstr("tensor b: starts at offset"));
  EXPECT_THAT(
      ErrorOf(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4,4],"data_offsets":[0,0]}})", 0),
      HasSubstr("not match its dtype and shape"));
  EXPECT_THAT(ErrorOf(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8),
              HasSubstr("a.dtype: expected a string, it is missing"));
  EXPECT_THAT(ErrorOf(R"([])", 0), HasSubstr("expected an object"));
  EXPECT_THAT(ErrorOf(R"({"a":)", 0), HasSubstr("parse error"));
}

TEST(SafetensorsTest, NamesThatAreUsedTwiceCannotBeWritten) {
  SafetensorsHeader header;
  header.tensors = {{"w", "F32", {1}}, {"w", "F32", {1}}};
  EXPECT_EQ(Message(header.Lay({}).status()), "tensor w: the name is used twice");
}

}  // namespace
}  // namespace flotilla
