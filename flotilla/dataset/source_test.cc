#include "flotilla/dataset/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zstd.h>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

StatusOr<std::string> ReadAll(const std::string& name, const SourceOptions& options) {
  FL_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, OpenSource(name, options));
  std::string text;
  std::vector<char> buffer(1000);
  while (true) {
    FL_ASSIGN_OR_RETURN(const size_t got, stream->Read(buffer));
    if (got == 0) return text;
    text.append(buffer.data(), got);
  }
}

std::string Zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  return packed;
}

// A fake Hadoop client, first on PATH during its lifetime: `hadoop fs -cat hdfs:/NAME` prints the
// file NAME of a directory.
class FakeHadoop {
 public:
  FakeHadoop() : path_before_(getenv("PATH")) {
    const std::string script =
        dir_.Write("hadoop", "#!/bin/sh\n[ \"$1 $2\" = 'fs -cat' ] || exit 9\ncat \"" +
                                 dir_.path() + "/${3#hdfs:/}\"\n");
    chmod(script.c_str(), 0755);
    setenv("PATH", (dir_.path() + ":" + path_before_).c_str(), 1);
  }
  ~FakeHadoop() { setenv("PATH", path_before_.c_str(), 1); }

  const TempDir& dir() const { return dir_; }

 private:
  const TempDir dir_;
  const std::string path_before_;
};

TEST(SourceTest, RemotePathIsReadThroughTheCommandOfItsScheme) {
  FakeHadoop hadoop;
  hadoop.dir().Write("it's a file", "from afar\n");
  StatusOr<std::string> text = ReadAll("hdfs:/it's a file", {});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "from afar\n");
}

TEST(SourceTest, RemoteCompressedFileGoesThroughThePipeCommandToo) {
  FakeHadoop hadoop;
  hadoop.dir().Write("a.zst", Zstd("from afar\n"));
  StatusOr<std::string> text = ReadAll("hdfs:/a.zst", {.pipe_command = "tr a-z A-Z"});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "FROM AFAR\n");
}

TEST(SourceTest, FailureOfTheRemoteCommandNamesPathAndCommand) {
  FakeHadoop hadoop;
  for (const std::string command : {"", "cat"}) {
    const Status status = ReadAll("hdfs:/none", {.pipe_command = command}).status();
    EXPECT_THAT(std::string(Message(status)),
                HasSubstr("hdfs:/none: command `hadoop fs -cat 'hdfs:/none'` exited with code 1"));
    EXPECT_THAT(std::string(Message(status)), HasSubstr("No such file or directory"));
  }
}

TEST(SourceTest, SchemesAreConfigured) {
  StatusOr<std::string> text =
      ReadAll("demo:x", {.scheme_commands = {{"demo", "printf '%s\\n' got"}}});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "got\ndemo:x\n");
}

TEST(SourceTest, PipeCommandReadsAPlainFileItself) {
  TempDir dir;
  StatusOr<std::string> text =
      ReadAll(dir.Write("a", "text"), {.pipe_command = "stat -L -c %s /dev/stdin"});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "4\n");
}

TEST(SourceTest, MissingFileIsAnErrorBeforeTheCommandRuns) {
  TempDir dir;
  const Status status =
      OpenSource(dir.path() + "/none", {.pipe_command = "touch " + dir.path() + "/ran"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  struct stat info;
  EXPECT_NE(stat((dir.path() + "/ran").c_str(), &info), 0);
}

}  // namespace
}  // namespace flotilla
