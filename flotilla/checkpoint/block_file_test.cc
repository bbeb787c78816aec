#include "flotilla/checkpoint/block_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "flotilla/base/hash.h"
#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

std::string RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(RngKey(1).Bits(i));
  return bytes;
}

class BlockFileTest : public ::testing::Test {
 protected:
  ~BlockFileTest() override { close(directory_); }

  StatusOr<std::unique_ptr<BlockFileReader>> Open(const SavedFile& file) {
    return BlockFileReader::Open(directory_, path_, file);
  }

  TempDir temp_;
  const std::string path_ = temp_.path() + "/file";
  const int directory_ = open(temp_.path().c_str(), O_RDONLY | O_DIRECTORY);
};

// Pieces of odd sizes, from several positions at once and in any order.
TEST_F(BlockFileTest, BytesMayBeWrittenInAnyOrder) {
  const std::string bytes = RandomBytes(3 * kBlockBytes + 12345);
  const auto writer = BlockFileWriter::Make(path_, "file", static_cast<int64_t>(bytes.size()));
  ASSERT_TRUE(writer.ok()) << writer.status();
  std::vector<std::pair<size_t, size_t>> pieces;
  for (size_t at = 0, i = 0; at < bytes.size(); ++i) {
    const size_t size = std::min<size_t>(bytes.size() - at, 1 + RngKey(2).Below(i, 900'000));
    pieces.emplace_back(at, size);
    at += size;
  }
  for (size_t i = pieces.size() - 1; i > 0; --i) {
    std::swap(pieces[i], pieces[RngKey(3).Below(i, i + 1)]);
  }
  for (const auto& [at, size] : pieces) {
    ASSERT_TRUE(
        (*writer)->Write(static_cast<int64_t>(at), std::string_view(bytes).substr(at, size)).ok());
  }
  const auto file = (*writer)->Finish(false);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->blocks.size(), 4u);
  for (size_t b = 0; b < 4; ++b) {
    EXPECT_EQ(file->blocks[b], HashBytes(bytes.substr(b * kBlockBytes, kBlockBytes)));
  }
  const auto reader = Open(*file);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string again(bytes.size(), '\0');
  ASSERT_TRUE((*reader)->Read(0, again).ok());
  EXPECT_EQ(again, bytes);
  std::vector<char> buffer;
  for (int64_t b = 0; b < 4; ++b) EXPECT_TRUE((*reader)->Verify(b, &buffer).ok());
}

TEST_F(BlockFileTest, AnEmptyFileHasNoBlocks) {
  const auto writer = BlockFileWriter::Make(path_, "file", 0);
  ASSERT_TRUE(writer.ok());
  const auto file = (*writer)->Finish(true);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->blocks.empty());
  EXPECT_TRUE(Open(*file).ok());
}

TEST_F(BlockFileTest, ErrorsNameFileAndOffset) {
  EXPECT_THAT(std::string(Message(BlockFileWriter::Make(path_ + "/x", "x", 1).status())),
              HasSubstr("/file/x: cannot create: "));
  SavedFile file{.name = "file", .bytes = kBlockBytes + 3, .blocks = {1, 2}};
  EXPECT_EQ(Open(file).status().code(), absl::StatusCode::kNotFound);
  temp_.Write("file", std::string(kBlockBytes + 3, 'a'));
  const auto reader = Open(file);
  ASSERT_TRUE(reader.ok());
  std::vector<char> buffer;
  EXPECT_EQ(Message((*reader)->Verify(1, &buffer)),
            path_ + ": checksum mismatch at offset 1048576 (3 bytes)");
  file.bytes += 5;
  EXPECT_EQ(
      Message(Open(file).status()),
      path_ + ": truncated at offset 1048579: it has 1048579 bytes, the manifest says 1048584");
  file.bytes = 10;
  EXPECT_EQ(Message(Open(file).status()),
            path_ + ": extra bytes at offset 10: it has 1048579 bytes, the manifest says 10");
}

}  // namespace
}  // namespace flotilla
