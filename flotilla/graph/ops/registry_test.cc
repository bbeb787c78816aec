#include "flotilla/graph/ops/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace flotilla {
namespace {

NodeDef Node(const std::string& op, std::vector<int> inputs, Attributes attributes = {}) {
  NodeDef node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return node;
}

std::string ErrorOf(const NodeDef& node) {
  const auto op = MakeOp(node);
  return op.ok() ? "OK" : std::string(Message(op.status()));
}

TEST(RegistryTest, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const OpEntry& entry : AllOps()) EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
  EXPECT_GT(names.size(), 30u);
}

TEST(RegistryTest, AnUnknownOpNamesTheNearest) {
  EXPECT_EQ(ErrorOf(Node("reduce_som", {0})), "unknown op reduce_som, did you mean reduce_sum?");
  EXPECT_TRUE(ErrorOf(Node("", {0})).starts_with("unknown op ; known: "));
}

TEST(RegistryTest, TheNumberOfInputsIsChecked) {
  EXPECT_EQ(ErrorOf(Node("add", {0, 1})), "OK");
  EXPECT_EQ(ErrorOf(Node("add", {0})), "1 inputs, but it takes 2 to 2");
  EXPECT_EQ(ErrorOf(Node("add", {0, 1, 2})), "3 inputs, but it takes 2 to 2");
}

TEST(RegistryTest, AttributesAreCheckedByNameAndType) {
  EXPECT_EQ(ErrorOf(Node("concat", {0}, {{"axis", int64_t{1}}})), "OK");
  EXPECT_EQ(ErrorOf(Node("concat", {0})), "attribute 'axis' of type int is missing");
  EXPECT_EQ(ErrorOf(Node("concat", {0}, {{"axis", 1.0}})),
            "attribute 'axis' is of type float, not int");
  EXPECT_EQ(ErrorOf(Node("relu", {0}, {{"slope", 1.0}})), "unknown attribute 'slope' (known: )");
}

TEST(RegistryTest, AnOptionalAttributeMayBeLeftOutButNotMistyped) {
  const Attribute axes = std::vector<int64_t>{};
  EXPECT_EQ(ErrorOf(Node("reduce_sum", {0}, {{"axes", axes}})), "OK");
  EXPECT_EQ(ErrorOf(Node("reduce_sum", {0}, {{"axes", axes}, {"keep_dims", true}})), "OK");
  EXPECT_EQ(ErrorOf(Node("reduce_sum", {0}, {{"axes", axes}, {"keep_dims", int64_t{1}}})),
            "attribute 'keep_dims' is of type int, not bool");
}

}  // namespace
}  // namespace flotilla
