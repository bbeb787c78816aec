#include "flotilla/checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "flotilla/base/hash.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

CheckpointPart MakePart(ShardRange shards, const std::string& file) {
  CheckpointPart part;
  part.tables = {{.name = "emb",
                  .dim = 2,
                  .states = 1,
                  .meta = true,
                  .parts = {{.file = file, .shards = shards, .rows = 4}}}};
  part.files = {{.name = file, .bytes = (1 << 20) + 1, .blocks = {1, ~uint64_t{0}}}};
  return part;
}

CheckpointPart DensePart() {
  CheckpointPart part;
  part.parameters = {{.name = "w",
                      .shape = {2, 3},
                      .states = 2,
                      .file = "d.safetensors",
                      .tensor = "w",
                      .state_tensor = "w/state"},
                     {.name = "b", .shape = {}, .file = "d.safetensors", .tensor = "b"}};
  part.files = {{.name = "d.safetensors", .bytes = 7, .blocks = {5}}};
  return part;
}

Manifest Good() {
  CheckpointInfo info{.step = 12, .seed = ~uint64_t{0}, .optimizer = {}, .sections = {}};
  info.optimizer.params = {{"beta1", 0.1}};
  info.optimizer.learning_rate = {.name = "piecewise",
                                  .params = {{"rate", 1e-300}},
                                  .boundaries = {1, 2.5},
                                  .values = {0.1, 1.0 / 3, 3}};
  info.optimizer.decay = {.l1 = 0.25, .l2 = 1e-7};
  info.sections = {{"graph", "{\"a\":\n\t1}"}, {"", ""}};
  const auto manifest =
      Manifest::Join(info, std::vector{MakePart({200, 312}, "2.safetensors"), DensePart(),
                                       MakePart({0, 200}, "1.safetensors")});
  EXPECT_TRUE(manifest.ok()) << manifest.status();
  return *manifest;
}

std::string ErrorAfter(const std::function<void(Manifest&)>& change) {
  Manifest manifest = Good();
  change(manifest);
  return std::string(Message(Manifest::FromText(*manifest.ToText()).status()));
}

// The text with a changed body and the matching checksum.
std::string WithBody(const std::string& body) {
  return fmt::format("{{\"format\":\"flotilla model\",\"version\":1,\"checksum\":\"{:016x}\",\n{}",
                     HashBytes(body), body);
}

TEST(ManifestTest, TextGivesBackTheSameManifest) {
  const Manifest manifest = Good();
  const auto text = manifest.ToText();
  ASSERT_TRUE(text.ok());
  const auto again = Manifest::FromText(*text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, manifest);
  EXPECT_EQ(again->FindTable("emb")->rows(), 8);
  EXPECT_EQ(again->FindTable("emb")->parts[0].file, "1.safetensors") << "in the order of shards";
}

TEST(ManifestTest, TheWholeFileIsOneJsonObject) {
  const auto json = nlohmann::json::parse(*Good().ToText());
  EXPECT_EQ(json["format"], "flotilla model");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["seed"].get<uint64_t>(), ~uint64_t{0});
  EXPECT_EQ(json["files"][0]["blocks"], "0000000000000001ffffffffffffffff");
}

TEST(ManifestTest, ANewerVersionIsRefusedWithTheVersionItNeeds) {
  std::string text = *Good().ToText();
  text.replace(text.find("\"version\":1"), 11, "\"version\":23");
  const Status status = Manifest::FromText(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("format version 23, this program reads up to "
                                                      "version 1"));
}

TEST(ManifestTest, DamageIsNamedByItsOffset) {
  const std::string text = *Good().ToText();
  const auto error = [](const std::string& damaged) {
    return std::string(Message(Manifest::FromText(damaged).status()));
  };
  EXPECT_THAT(error(""), StartsWith("damaged at offset 0"));
  EXPECT_THAT(error("{\"format\":\"flotilla mudel\""), StartsWith("damaged at offset 21"));
  EXPECT_THAT(error(text.substr(0, 60)), StartsWith("damaged at offset 51: no checksum"));
  EXPECT_THAT(error(text + " "), StartsWith("checksum mismatch at offset 70"));
  EXPECT_THAT(error(text.substr(0, text.size() / 2)), StartsWith("checksum mismatch at offset 70"));
}

TEST(ManifestTest, UnknownMembersAreIgnored) {
  std::string body = *Good().ToText();
  body = body.substr(body.find('\n') + 1);
  const auto manifest = Manifest::FromText(WithBody("\"made_by\": [1, {}],\n" + body));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(*manifest, Good());
}

TEST(ManifestTest, MembersThatAreMissingOrOfAnotherTypeAreNamed) {
  const auto error = [](const std::string& from, const std::string& to) {
    std::string body = *Good().ToText();
    body = body.substr(body.find('\n') + 1);
    const size_t at = body.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    body.replace(at, from.size(), to);
    return std::string(Message(Manifest::FromText(WithBody(body)).status()));
  };
  EXPECT_EQ(error("\"step\"", "\"stop\""), "step: expected a whole number, it is missing");
  EXPECT_EQ(error("\"step\": 12", "\"step\": -1"), "step: -1 is out of range");
  EXPECT_THAT(error("\"seed\": ", "\"seed\": -"),
              StartsWith("seed: expected a whole number >= 0, found -"));
  EXPECT_EQ(error("\"dtype\": \"F32\"", "\"dtype\": \"F16\""), "parameters[0].dtype: not F32");
  EXPECT_EQ(error("\"rows\": 8", "\"rows\": 9"), "tables[0].rows: not the sum of its parts");
  EXPECT_EQ(error("\"l1\": 0.25", "\"l1\": []"), "optimizer.decay.l1: expected a number");
  EXPECT_EQ(error("\"kind\": \"none\"", "\"kind\": \"\""),
            "optimizer.clip.kind: '' is not one of none, value, norm, global_norm");
  EXPECT_THAT(error("\"step\": 12", "\"step\": 1e400"), HasSubstr("number overflow"));
}

TEST(ManifestTest, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.tables[0].parts[1].shards.first = 199; }),
            "table emb: file 2.safetensors has shards [199, 511), the next should be 200");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.tables[0].parts.pop_back(); }),
            "table emb: its files have the shards below 200, not all 512");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.tables[0].parts[1].file = "1.safetensors"; }),
            "table emb: its file 1.safetensors is not listed, or belongs to something else");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.tables[0].name = "w"; }),
            "table w: the name is used twice");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.parameters[1].name = ""; }), "parameter : has no name");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.parameters[0].file = "x.safetensors"; }),
            "parameter w: its file x.safetensors is not listed");
  EXPECT_EQ(ErrorAfter([](Manifest& m) {
              m.parameters[0].shape = {int64_t{1} << 40, 2};
            }),
            "parameter w: its shape does not fit");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.info.optimizer_state = false; }),
            "parameter w: has state in a model without optimizer state");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.files[0].name = "../etc/x.safetensors"; }),
            "file ../etc/x.safetensors: is not the name of a .safetensors file");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.files[0].blocks.pop_back(); }),
            "file 2.safetensors: 1 block checksums for 1048577 bytes");
  EXPECT_EQ(ErrorAfter([](Manifest& m) { m.files[1].name = m.files[0].name; }),
            "file 2.safetensors is listed twice");
}

TEST(ManifestTest, WritersMustDescribeATableAlike) {
  CheckpointPart other = MakePart({200, 312}, "2.safetensors");
  other.tables[0].dim = 3;
  EXPECT_EQ(
      Message(Manifest::Join({}, std::vector{MakePart({0, 200}, "1.safetensors"), other}).status()),
      "table emb: two writers describe it differently");
}

TEST(ManifestTest, WhatJsonCannotHoldIsRefusedWhenItIsWritten) {
  Manifest manifest = Good();
  manifest.info.optimizer.params["beta1"] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(manifest.ToText().ok());
  manifest = Good();
  manifest.info.sections["graph"] = "\xff";
  EXPECT_FALSE(manifest.ToText().ok());
  manifest = Good();
  manifest.tables[0].name = "\xc3";
  EXPECT_FALSE(manifest.ToText().ok());
}

TEST(CheckpointPartTest, TextGivesBackTheSamePart) {
  for (const CheckpointPart& part :
       {MakePart({3, 4}, "x.safetensors"), DensePart(), CheckpointPart{}}) {
    const auto again = CheckpointPart::FromText(*part.ToText());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, part);
  }
  EXPECT_THAT(std::string(Message(CheckpointPart::FromText("[]").status())),
              HasSubstr("part of a checkpoint: expected an object"));
}

}  // namespace
}  // namespace flotilla
