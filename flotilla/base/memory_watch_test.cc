#include "flotilla/base/memory_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <vector>

#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;

TEST(MemoryWatchTest, ResidentBytesGrowWithTouchedPagesOnly) {
  constexpr size_t kBytes = size_t{64} << 20;
  const int64_t before = ResidentBytes();
  ASSERT_GT(before, 1 << 20);
  const auto memory = MappedMemory::Make(kBytes, /*huge_pages=*/false);
  ASSERT_TRUE(memory.ok());
  EXPECT_LT(ResidentBytes() - before, static_cast<int64_t>(kBytes / 2));
  for (size_t at = 0; at < kBytes; at += 4096) memory->data()[at] = std::byte{1};
  EXPECT_GT(ResidentBytes() - before, static_cast<int64_t>(kBytes - kBytes / 8));
}

TEST(MemoryWatchTest, ThePassingOfTheBoundIsToldOnce) {
  std::atomic<int64_t> resident = 100;
  std::atomic<int> calls = 0;
  std::promise<int64_t> told;
  {
    MemoryWatch watch(
        100,
        [&](int64_t bytes) {
          if (calls++ == 0) told.set_value(bytes);
        },
        [&] { return resident.load(); });
    resident = 101;
    EXPECT_EQ(told.get_future().get(), 101);
  }
  EXPECT_EQ(calls, 1);
}

TEST(MemoryWatchTest, ABoundThatIsPassedAlreadyIsToldBeforeTheWatchIsMade) {
  int64_t told = 0;
  const MemoryWatch watch(
      100, [&](int64_t bytes) { told = bytes; }, [] { return 200; });
  EXPECT_EQ(told, 200);
}

TEST(MemoryWatchTest, AWatchThatSeesNothingEndsAtOnce) {
  MemoryWatch watch(
      100, [](int64_t) { ADD_FAILURE(); }, [] { return 100; });
}

TEST(MemoryWatchTest, BytesAreShownInUnitsOfTwoToTheTen) {
  EXPECT_EQ(HumanBytes(1 << 20), "1.0 MiB");
  EXPECT_EQ(HumanBytes(int64_t{500} << 20), "500 MiB");
  EXPECT_EQ(HumanBytes(int64_t{3} << 30), "3.0 GiB");
}

TEST(MemoryWatchTest, TheTextOfAPassedBoundAccountsForAllMemory) {
  constexpr int64_t kMiB = 1 << 20;
  const std::vector<MemoryPart> parts = {{"table emb (7 rows)", 300 * kMiB}, {"rows", 50 * kMiB}};
  EXPECT_EQ(MemoryBoundText(500 * kMiB, 450 * kMiB, parts, "use less"),
            "500 MiB of memory are in use, the bound (--max_memory) is 450 MiB: "
            "table emb (7 rows) 300 MiB, rows 50 MiB, everything else 150 MiB; use less");
}

class GroupMemoryLimitTest : public ::testing::Test {
 protected:
  GroupMemoryLimitTest() { Write("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n"); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_.path() + "/" + path).parent_path());
    root_.Write(path, text);
  }
  const TempDir root_;
};

TEST_F(GroupMemoryLimitTest, TheSmallestLimitOfTheGroupsAboveCounts) {
  Write("proc/self/cgroup", "0::/job/step\n");
  EXPECT_EQ(GroupMemoryLimit(root_.path()), 0);
  Write("sys/fs/cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(GroupMemoryLimit(root_.path()), 0);
  Write("sys/fs/cgroup/job/memory.max", "500000\n");
  EXPECT_EQ(GroupMemoryLimit(root_.path()), 500'000);
  Write("sys/fs/cgroup/job/step/memory.max", "400000\n");
  EXPECT_EQ(GroupMemoryLimit(root_.path()), 400'000);
}

// In a container of its own the group is the root.
TEST_F(GroupMemoryLimitTest, TheRootOfAContainerHasALimit) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", "300000\n");
  EXPECT_EQ(GroupMemoryLimit(root_.path()), 300'000);
}

TEST_F(GroupMemoryLimitTest, VersionOneHasAControllerOfMemory) {
  Write("proc/self/cgroup", "5:devices:/\n4:cpu,memory:/a\n0::/\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(GroupMemoryLimit(root_.path()), 0) << "more than the machine has";
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "200000\n");
  EXPECT_EQ(GroupMemoryLimit(root_.path()), 200'000);
}

TEST_F(GroupMemoryLimitTest, WithoutFilesThereIsNoLimit) {
  EXPECT_EQ(GroupMemoryLimit(root_.path() + "/none"), 0);
}

}  // namespace
}  // namespace flotilla
