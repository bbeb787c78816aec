// How a reader handles damaged models, and what a save leaves behind that is killed or runs out of
// disk space.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <thread>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/checkpoint_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Overwrites bytes of an existing file.
void Patch(const std::string& path, uint64_t at, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<int64_t>(at));
  file.write(bytes.data(), static_cast<int64_t>(bytes.size()));
}

// Damages files of a model, one way at a time, and repairs them. The damage depends on the key
// alone.
class Damage {
 public:
  Damage(const std::string& dir, const RngKey& key) : key_(key) {
    for (const auto& entry : fs::directory_iterator(dir)) files_.push_back(entry.path());
    std::sort(files_.begin(), files_.end());
    for (const std::string& file : files_) contents_.push_back(ContentOf(file));
  }

  // Returns a description of the damage.
  std::string Do() {
    const size_t f = Below(files_.size());
    const std::string& file = files_[f];
    const std::string& content = contents_[f];
    const uint64_t at = Below(content.size());
    switch (Below(6)) {
      case 0:
        Patch(file, at, std::string(1, static_cast<char>(content[at] ^ (1 << Below(8)))));
        repair_ = [=, this] { Patch(files_[f], at, contents_[f].substr(at, 1)); };
        return fmt::format("flip a bit of {} at {}", file, at);
      case 1:
        fs::resize_file(file, at);
        repair_ = [=, this] { Patch(files_[f], at, contents_[f].substr(at)); };
        return fmt::format("truncate {} to {}", file, at);
      case 2:
        Patch(file, content.size(), std::string(1 + Below(100), static_cast<char>(Below(256))));
        repair_ = [=, this] { fs::resize_file(files_[f], contents_[f].size()); };
        return fmt::format("extend {}", file);
      case 3: {
        const std::string old = content.substr(at, 40);
        Patch(file, at, std::string(old.size(), '\0'));
        repair_ = [=, this] { Patch(files_[f], at, old); };
        return fmt::format("zeros in {} from {}", file, at);
      }
      case 4:
        fs::rename(file, file + ".away");
        repair_ = [=, this] { fs::rename(files_[f] + ".away", files_[f]); };
        return fmt::format("remove {}", file);
      default:
        const size_t other = Below(files_.size());
        Swap(f, other);
        repair_ = [=, this] { Swap(f, other); };
        return fmt::format("swap {} and {}", file, files_[other]);
    }
  }

  void Repair() { repair_(); }

 private:
  uint64_t Below(uint64_t bound) { return key_.Below(draws_++, bound); }

  void Swap(size_t a, size_t b) const {
    fs::rename(files_[a], files_[a] + ".away");
    if (a != b) fs::rename(files_[b], files_[a]);
    fs::rename(files_[a] + ".away", files_[b]);
  }

  const RngKey key_;
  uint64_t draws_ = 0;
  std::vector<std::string> files_, contents_;
  std::function<void()> repair_;
};

TEST(DamageTest, NoDamageOfAnyFileIsLoaded) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  // One file has more than a block.
  const TestModel model{.wide_rows = 6'000, .writers = 1};
  ASSERT_TRUE(model.Save(dir).ok());
  const ModelContent whole = model.Content();
  Damage damage(dir, RngKey(7));
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string what = damage.Do();
    const auto content = ReadModel(dir, {.threads = 1});
    if (content.ok()) {
      ASSERT_EQ(*content, whole) << what;
    } else {
      ++refused;
      ASSERT_THAT(
          std::string(Message(content.status())),
          AnyOf(HasSubstr("offset"), HasSubstr("missing"), HasSubstr("manifest.json: cannot")))
          << what;
      ASSERT_THAT(std::string(Message(content.status())), HasSubstr(dir)) << what;
    }
    damage.Repair();
  }
  EXPECT_GT(refused, 1500);
  EXPECT_EQ(*ReadModel(dir), whole);
}

TEST(DamageTest, EveryFlippedBitOfTheManifestIsRefused) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  ASSERT_TRUE(TestModel{.writers = 1}.Save(dir).ok());
  const std::string text = ContentOf(dir + "/manifest.json");
  for (size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      ASSERT_FALSE(Manifest::FromText(flipped).ok()) << at << " " << bit;
    }
  }
  EXPECT_TRUE(Manifest::FromText(text).ok());
}

TEST(DamageTest, PipesAndDirectoriesInThePlaceOfFilesAreRefused) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  for (const std::string name : {"/manifest.json", "/dense.part-0.safetensors"}) {
    ASSERT_TRUE(TestModel{}.Save(dir).ok());
    fs::remove(dir + name);
    ASSERT_EQ(mkfifo((dir + name).c_str(), 0600), 0);
    EXPECT_EQ(ReadModel(dir).status().code(), absl::StatusCode::kDataLoss);
    fs::remove(dir + name);
    fs::create_directory(dir + name);
    EXPECT_EQ(ReadModel(dir).status().code(), absl::StatusCode::kDataLoss);
    fs::remove_all(dir);
  }
}

// Progress that a child process that saves continuously shares with its parent.
struct Progress {
  std::atomic<int> started = 0;   // version whose save began last
  std::atomic<int> finished = 0;  // version whose save ended last
};

[[noreturn]] void SaveUntilKilled(const std::string& dir, const WriterOptions& options,
                                  Progress* progress) {
  for (int version = progress->finished + 1;; ++version) {
    progress->started = version;
    if (!TestModel{.version = version}.Save(dir, options).ok()) _exit(1);
    progress->finished = version;
  }
}

// Kills a child at an arbitrary moment of a save. At any moment, the old or the new model exists.
void KillSaves(bool exchange, int rounds) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  const WriterOptions options{.sync = false, .exchange = exchange};
  ASSERT_TRUE(TestModel{.version = 0}.Save(dir, options).ok());
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const progress = new (shared) Progress;
  for (int round = 0; round < rounds; ++round) {
    const int before = progress->started;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) SaveUntilKilled(dir, options, progress);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (progress->started == before && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    // Waits for up to a few more saves.
    std::this_thread::sleep_for(std::chrono::microseconds(RngKey(8).Below(round, 4000)));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a save failed";
    const auto content = ReadModel(dir, {.threads = 1});
    ASSERT_TRUE(content.ok()) << "round " << round << ": " << content.status();
    const int found = static_cast<int>(content->info.step) - 100;
    ASSERT_GE(found, progress->finished);
    ASSERT_LE(found, progress->started);
    ASSERT_EQ(*content, TestModel{.version = found}.Content());
    progress->started = found;
    progress->finished = found;
  }
  munmap(shared, sizeof(Progress));
  ASSERT_TRUE(TestModel{.version = 1}.Save(dir, options).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(temp.path()), fs::directory_iterator()), 1);
}

TEST(DamageTest, AKilledSaveLeavesTheOldOrTheNewModel) { KillSaves(true, 100); }

TEST(DamageTest, AKilledSaveDoesSoWhereDirectoriesCannotBeExchanged) { KillSaves(false, 100); }

// The old model is unchanged, nothing else is left behind, and the error describes what happened.
void ExpectNoRoom(const std::string& dir, const Status& saved, const std::string& cause) {
  EXPECT_EQ(saved.code(), absl::StatusCode::kResourceExhausted) << saved;
  EXPECT_THAT(std::string(Message(saved)), HasSubstr(".saving/"));
  EXPECT_THAT(std::string(Message(saved)), HasSubstr(cause));
  EXPECT_EQ(*ReadModel(dir), TestModel{}.Content());
  EXPECT_FALSE(fs::exists(dir + ".saving"));
}

TEST(DamageTest, AFileThatMayNotGrowLeavesTheOldModel) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  ASSERT_TRUE(TestModel{}.Save(dir).ok());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 300'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status saved = TestModel{.version = 2, .wide_rows = 6'000}.Save(dir);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ExpectNoRoom(dir, saved, "File too large");
}

TEST(DamageTest, AFullDiskLeavesTheOldModel) {
  TempDir temp;
  if (mount("tmpfs", temp.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "skipped: no tmpfs (needs root)";
  }
  const std::string dir = temp.path() + "/model";
  EXPECT_TRUE(TestModel{}.Save(dir, {.sync = true}).ok());
  const Status saved = TestModel{.version = 2, .wide_rows = 6'000}.Save(dir);
  ExpectNoRoom(dir, saved, "No space left on device");
  // Once there is room again, the next save succeeds.
  const Status next = TestModel{.version = 3}.Save(dir);
  EXPECT_TRUE(next.ok()) << next;
  EXPECT_EQ(umount(temp.path().c_str()), 0);
}

}  // namespace
}  // namespace flotilla
