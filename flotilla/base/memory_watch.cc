#include "flotilla/base/memory_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace flotilla {
namespace {

constexpr std::chrono::milliseconds kEvery(250);

// The number in a file; 0 if there is none ("max", no such file).
int64_t NumberIn(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : 0;
}

// The smallest limit in this directory and those above it, up to `top`; 0: none.
int64_t SmallestLimit(const std::string& top, std::string group, const char* file) {
  int64_t smallest = 0;
  while (true) {
    const int64_t limit = NumberIn(top + group + "/" + file);
    if (limit > 0 && (smallest == 0 || limit < smallest)) smallest = limit;
    if (group.empty()) return smallest;
    group.resize(group.rfind('/'));
  }
}

// The groups of this process by the controllers in its lines: "4:memory:/a/b" in version 1,
// "0::/a/b" in version 2.
int64_t LimitOfGroups(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  const std::string top = root + "/sys/fs/cgroup";
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (group.empty() || group[0] != '/') continue;
    if (group == "/") group.clear();
    int64_t limit = 0;
    if (controllers.find(",memory,") != std::string::npos) {
      limit = SmallestLimit(top + "/memory", group, "memory.limit_in_bytes");
    } else if (controllers == ",,") {
      limit = SmallestLimit(top, group, "memory.max");
    }
    if (limit > 0) return limit;
  }
  return 0;
}

int64_t MachineMemory(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string name;
  int64_t kilobytes = 0;
  return file >> name >> kilobytes && name == "MemTotal:" ? kilobytes * 1024 : 0;
}

}  // namespace

int64_t ResidentBytes() {
  // No stream: it would allocate, where memory is short.
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[128];
  const ssize_t size = read(fd, text, sizeof(text));
  close(fd);
  if (size <= 0) return 0;
  const std::string_view all(text, static_cast<size_t>(size));
  const size_t space = all.find(' ');
  if (space == std::string_view::npos) return 0;
  int64_t pages = 0;
  std::from_chars(all.data() + space + 1, all.data() + all.size(), pages);
  return pages * sysconf(_SC_PAGESIZE);
}

int64_t GroupMemoryLimit(const std::string& root) {
  const int64_t limit = LimitOfGroups(root);
  return limit < MachineMemory(root) ? limit : 0;
}

std::string HumanBytes(int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  if (mebibytes < 10) return fmt::format("{:.1f} MiB", mebibytes);
  if (mebibytes < 1024) return fmt::format("{:.0f} MiB", mebibytes);
  return fmt::format("{:.1f} GiB", mebibytes / 1024);
}

std::string MemoryBoundText(int64_t resident, int64_t bound, std::span<const MemoryPart> parts,
                            std::string_view remedy) {
  std::string text =
      fmt::format("{} of memory are in use, the bound (--max_memory) is {}: ", HumanBytes(resident),
                  HumanBytes(bound));
  int64_t rest = resident;
  for (const MemoryPart& part : parts) {
    text += fmt::format("{} {}, ", part.what, HumanBytes(part.bytes));
    rest -= part.bytes;
  }
  // Parts that are reserved but not touched are not resident.
  return text +
         fmt::format("everything else {}; {}", HumanBytes(std::max<int64_t>(0, rest)), remedy);
}

MemoryWatch::MemoryWatch(int64_t bound, std::function<void(int64_t)> passed,
                         std::function<int64_t()> resident) {
  const auto look = [bound, passed = std::move(passed), resident = std::move(resident)] {
    const int64_t now = resident();
    if (now <= bound) return true;
    passed(now);
    return false;
  };
  if (look()) ticker_.emplace(kEvery, look);
}

}  // namespace flotilla
