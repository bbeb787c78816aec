#include "flotilla/infer/export_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/safetensors.h"
#include "flotilla/infer/trained_model_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

template <typename T>
std::vector<T> Values(std::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

class ExportModelTest : public ::testing::Test {
 protected:
  ExportModelTest() {
    model_.Save(dir_.path() + "/model");
    reader_ = *CheckpointReader::Open(dir_.path() + "/model");
    const SavedTable* users = reader_->manifest().FindTable("users");
    for (int shard = 0; shard < kVirtualShards; ++shard) {
      const Status read = reader_->ReadRows(
          *users, shard, CheckpointReader::Columns::kWeights, [&](const TableRows& rows) {
            ids_.insert(ids_.end(), rows.ids.begin(), rows.ids.end());
            weights_.insert(weights_.end(), rows.weights.begin(), rows.weights.end());
            return absl::OkStatus();
          });
      EXPECT_TRUE(read.ok()) << read;
    }
    const SavedParameter* hidden = reader_->manifest().FindParameter("hidden.w_0");
    hidden_.resize(12 * 17);
    EXPECT_TRUE(reader_->ReadParameter(*hidden, hidden_, {}).ok());
    EXPECT_GT(ids_.size(), 20);
  }

  std::string Export(ExportFormat format, std::vector<std::string> names = {}) {
    const auto exported =
        ExportModel(*reader_, {.format = format, .out = out_, .names = std::move(names)});
    if (!exported.ok()) return std::string(Message(exported.status()));
    exported_ = *exported;
    return "ok";
  }

  const TempDir dir_;
  const std::string out_ = dir_.path() + "/out";
  TrainedModel model_;
  std::unique_ptr<CheckpointReader> reader_;
  std::vector<uint64_t> ids_;
  std::vector<float> weights_, hidden_;
  std::vector<ExportedTensor> exported_;
};

TEST_F(ExportModelTest, NpyIsOneFilePerTensor) {
  ASSERT_EQ(Export(ExportFormat::kNpy), "ok");
  const std::string ids = ReadFile(out_ + "/users.ids.npy");
  const std::string weights = ReadFile(out_ + "/users.weights.npy");
  EXPECT_THAT(ids, HasSubstr(fmt::format("'shape': ({}, )", ids_.size())));
  EXPECT_THAT(weights, HasSubstr(fmt::format("'shape': ({}, 4, )", ids_.size())));
  const size_t header = ids.size() - ids_.size() * sizeof(uint64_t);
  EXPECT_EQ(header % 64, 0);
  EXPECT_EQ(Values<uint64_t>(std::string_view(ids).substr(header)), ids_);
  EXPECT_EQ(Values<float>(std::string_view(weights).substr(header)), weights_);
  const std::string hidden = ReadFile(out_ + "/hidden.w_0.npy");
  EXPECT_EQ(Values<float>(std::string_view(hidden).substr(hidden.size() - hidden_.size() * 4)),
            hidden_);
  EXPECT_EQ(exported_.size(),
            reader_->manifest().parameters.size() + reader_->manifest().tables.size());
}

TEST_F(ExportModelTest, TextReadsBackAsTheSameNumbers) {
  ASSERT_EQ(Export(ExportFormat::kText, {"users", "hidden.w_0"}), "ok");
  std::istringstream table(ReadFile(out_ + "/users.txt"));
  for (size_t i = 0; i < ids_.size(); ++i) {
    uint64_t id = 0;
    table >> id;
    EXPECT_EQ(id, ids_[i]);
    for (int d = 0; d < 4; ++d) {
      std::string word;
      table >> word;
      EXPECT_EQ(std::strtof(word.c_str(), nullptr), weights_[4 * i + d]);
    }
  }
  std::string rest;
  EXPECT_FALSE(table >> rest);
  std::istringstream dense(ReadFile(out_ + "/hidden.w_0.txt"));
  for (const float weight : hidden_) {
    std::string line;
    ASSERT_TRUE(std::getline(dense, line));
    EXPECT_EQ(std::strtof(line.c_str(), nullptr), weight);
  }
}

TEST_F(ExportModelTest, SafetensorsIsOneFileWithAll) {
  ASSERT_EQ(Export(ExportFormat::kSafetensors), "ok");
  const std::string file = ReadFile(out_);
  const auto bytes = static_cast<int64_t>(file.size());
  const auto header = ParseSafetensors(
      file.substr(0, static_cast<size_t>(*SafetensorsHeaderEnd(file.substr(0, 8), bytes))), bytes);
  ASSERT_TRUE(header.ok()) << header.status();
  const auto tensor = [&](const char* name) {
    const TensorEntry* entry = header->Find(name);
    EXPECT_NE(entry, nullptr) << name;
    return std::string_view(file).substr(entry->offset, entry->bytes);
  };
  EXPECT_EQ(Values<uint64_t>(tensor("users.ids")), ids_);
  EXPECT_EQ(Values<float>(tensor("users.weights")), weights_);
  EXPECT_EQ(Values<float>(tensor("hidden.w_0")), hidden_);
}

TEST_F(ExportModelTest, OnlyWhatIsAskedForIsWritten) {
  ASSERT_EQ(Export(ExportFormat::kNpy, {"words"}), "ok");
  ASSERT_EQ(exported_.size(), 1);
  EXPECT_THAT(exported_[0].files,
              ElementsAre(out_ + "/words.ids.npy", out_ + "/words.weights.npy"));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out_)) files += entry.exists();
  EXPECT_EQ(files, 2);
  EXPECT_THAT(Export(ExportFormat::kNpy, {"wordz"}),
              HasSubstr("no parameter or table is named wordz, did you mean words?"));
}

TEST_F(ExportModelTest, FilesThatAreThereAreReplaced) {
  for (const ExportFormat format : {ExportFormat::kNpy, ExportFormat::kText}) {
    ASSERT_EQ(Export(format), "ok");
    ASSERT_EQ(Export(format), "ok");
  }
  for (const auto& entry : std::filesystem::directory_iterator(out_)) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
  std::filesystem::remove_all(out_);
  ASSERT_EQ(Export(ExportFormat::kSafetensors, {"users"}), "ok");
  ASSERT_EQ(Export(ExportFormat::kSafetensors), "ok");
  EXPECT_FALSE(std::filesystem::exists(out_ + ".tmp"));
}

TEST_F(ExportModelTest, PlacesThatCannotBeWrittenAreNamed) {
  dir_.Write("out", "a file");
  EXPECT_THAT(Export(ExportFormat::kNpy), HasSubstr(out_ + ": cannot be created"));
  const auto nowhere = ExportModel(
      *reader_, {.format = ExportFormat::kSafetensors, .out = "/no/such/dir/f", .names = {}});
  EXPECT_THAT(std::string(Message(nowhere.status())), HasSubstr("/no/such/dir/f"));
}

}  // namespace
}  // namespace flotilla
