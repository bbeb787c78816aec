#include "flotilla/base/json_value.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace flotilla {
namespace {

// The error after `read` was applied to the parsed text; "" if there is none.
template <typename F>
std::string JsonErrorOf(const std::string& text, F read) {
  const nlohmann::json json = *ParseJson(text);
  Status status;
  read(JsonValue(json, &status));
  return std::string(Message(status));
}

TEST(JsonValueTest, ReadsEveryType) {
  const nlohmann::json json = *ParseJson(
      R"({"t": "x", "f": true, "n": 1.5, "w": -3, "u": 18446744073709551615,
          "list": [1, 2], "members": {"a": 1, "b": 2}})");
  Status status;
  const JsonValue value(json, &status);
  EXPECT_EQ(value["t"].Text(), "x");
  EXPECT_TRUE(value["f"].Flag());
  EXPECT_EQ(value["n"].Number(), 1.5);
  EXPECT_EQ(value["w"].Whole(-3), -3);
  EXPECT_EQ(value["u"].Unsigned(), ~uint64_t{0});
  EXPECT_EQ(value["list"].Wholes(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(value["list"].Each(&JsonValue::Number), (std::vector<double>{1, 2}));
  EXPECT_EQ(value["members"].EachMember(&JsonValue::Number),
            (std::map<std::string, double>{{"a", 1}, {"b", 2}}));
  EXPECT_FALSE(value["none"].exists());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(JsonValueTest, ErrorsNameThePlaceAndWhatWasFound) {
  const auto text = [](const JsonValue& json) { json["a"].Text(); };
  EXPECT_EQ(JsonErrorOf("[]", text), "expected an object");
  EXPECT_EQ(JsonErrorOf("5", text), "expected an object, found 5");
  EXPECT_EQ(JsonErrorOf("{}", text), "a: expected a string, it is missing");
  EXPECT_EQ(JsonErrorOf(R"({"a": null})", text), "a: expected a string, found null");
  EXPECT_EQ(JsonErrorOf(R"({"a": [1]})", text), "a: expected a string");
  const auto wholes = [](const JsonValue& json) { json["a"].Wholes(); };
  EXPECT_EQ(JsonErrorOf(R"({"a": {}})", wholes), "a: expected a list");
  EXPECT_EQ(JsonErrorOf(R"({"a": [0, 0.5]})", wholes), "a[1]: expected a whole number, found 0.5");
  EXPECT_EQ(JsonErrorOf(R"({"a": [0, -1]})", wholes), "a[1]: -1 is out of range");
  EXPECT_EQ(JsonErrorOf(R"({"a": [18446744073709551615]})", wholes),
            "a[0]: 18446744073709551615 is out of range");
  EXPECT_EQ(
      JsonErrorOf(R"({"a": {"b": 1}})", [](const JsonValue& json) { json["a"]["b"]["c"].Flag(); }),
      "a.b: expected an object, found 1");
}

TEST(JsonValueTest, TheFirstErrorIsKept) {
  EXPECT_EQ(JsonErrorOf("{}",
                        [](const JsonValue& json) {
                          json["a"].Text();
                          json["b"].Fail("wrong");
                        }),
            "a: expected a string, it is missing");
}

TEST(JsonValueTest, NamesAreFoundByTheirIndex) {
  constexpr std::string_view kNames[] = {"red", "green"};
  const auto read = [&](const JsonValue& json) { EXPECT_LT(json["a"].OneOf(kNames), 2); };
  EXPECT_EQ(JsonErrorOf(R"({"a": "green"})", read), "");
  EXPECT_EQ(JsonErrorOf(R"({"a": "blue"})", read), "a: 'blue' is not one of red, green");
}

TEST(JsonValueTest, TextThatIsNotJsonOrNotUtf8IsAnError) {
  EXPECT_NE(Message(ParseJson("{").status()).find("line 1, column 2"), std::string::npos);
  EXPECT_FALSE(DumpJson(nlohmann::json("\xff")).ok());
  EXPECT_EQ(*DumpJson(nlohmann::ordered_json{{"b", 1}, {"a", 2}}), R"({"b":1,"a":2})");
}

}  // namespace
}  // namespace flotilla
