#include "flotilla/rpc/shared_area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace flotilla {
namespace {

enum SlotState : uint32_t { kOffered = 1, kBeingFilled = 2, kClaimed = 3 };

uint32_t SlotOf(const SharedPart& part, SlotState state) { return part.generation << 2 | state; }

constexpr uint32_t kMaxGeneration = ~uint32_t{0} >> 2;

// Parts begin on cache lines, after the header.
constexpr uint64_t kAlign = 64;
constexpr uint64_t kFirstOffset = (sizeof(SharedHeader) + kAlign - 1) / kAlign * kAlign;
// The file must never shrink: a reader that touches missing pages would be killed.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Status SystemError(const std::string& what) {
  return absl::UnavailableError(fmt::format("shared memory: {}: {}", what, std::strerror(errno)));
}

SharedHeader& HeaderOf(const MappedMemory& mapping) {
  return *reinterpret_cast<SharedHeader*>(mapping.data());
}

std::atomic<uint32_t>& SlotIn(const MappedMemory& mapping, uint32_t slot) {
  return HeaderOf(mapping).slots[slot];
}

StatusOr<MappedMemory> MapArea(int file, size_t bytes) {
  StatusOr<MappedMemory> mapping = MappedMemory::MakeShared(file, bytes);
  if (mapping.ok()) return mapping;
  return absl::UnavailableError(fmt::format("shared memory: {}", Message(mapping.status())));
}

class FileCloser {
 public:
  explicit FileCloser(int file) : file_(file) {}
  ~FileCloser() {
    if (file_ >= 0) close(file_);
  }
  int get() const { return file_; }
  int Release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

}  // namespace

StatusOr<std::unique_ptr<SharedArea>> SharedArea::Make(size_t bytes) {
  FL_CHECK(bytes > kFirstOffset);
  FileCloser file(memfd_create("flotilla", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return SystemError("memfd_create");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return SystemError("ftruncate");
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return SystemError("sealing");
  std::unique_ptr<SharedArea> area(new SharedArea());
  FL_ASSIGN_OR_RETURN(area->mapping_, MapArea(file.get(), bytes));
  uint64_t token = 0;
  if (getrandom(&token, sizeof(token), 0) != sizeof(token)) return SystemError("getrandom");
  new (area->mapping_.data()) SharedHeader{.token = token};
  area->file_ = file.Release();
  area->name_ = {.process = static_cast<uint32_t>(getpid()),
                 .file = static_cast<uint32_t>(area->file_),
                 .token = token};
  {
    MutexLock lock(area->mutex_);
    for (uint32_t slot = 0; slot < SharedHeader::kSlots; ++slot) area->free_slots_.push_back(slot);
  }
  return area;
}

SharedArea::~SharedArea() {
  if (file_ >= 0) close(file_);
}

std::optional<SharedPart> SharedArea::Put(std::span<const std::byte> bytes, uint64_t reader,
                                          uint64_t call) {
  const std::optional<SharedPart> part = Take(bytes.size(), reader, call);
  if (!part.has_value()) return part;
  std::memcpy(mapping_.data() + part->offset, bytes.data(), bytes.size());
  // Release: another process that claims the part, or finds it released, sees this copy.
  SlotIn(mapping_, part->slot).store(SlotOf(*part, kOffered), std::memory_order_release);
  return part;
}

// The first gap that is large enough, so that the same pages are reused.
std::optional<SharedPart> SharedArea::Take(size_t size, uint64_t reader, uint64_t call) {
  MutexLock lock(mutex_);
  Reclaim();
  if (free_slots_.empty()) return std::nullopt;
  uint64_t offset = kFirstOffset;
  for (const auto& [begin, taken] : parts_) {
    if (begin - offset >= size) break;
    offset = (begin + taken.part.size + kAlign - 1) / kAlign * kAlign;
  }
  if (offset > mapping_.size() || mapping_.size() - offset < size) return std::nullopt;
  const SharedPart part{.offset = offset,
                        .size = size,
                        .slot = free_slots_.back(),
                        .generation = ++generation_ & kMaxGeneration};
  free_slots_.pop_back();
  SlotIn(mapping_, part.slot).store(SlotOf(part, kBeingFilled), std::memory_order_relaxed);
  parts_.emplace(offset, Taken{.part = part, .reader = reader, .call = call});
  return part;
}

void SharedArea::TakeBack(const SharedPart& part) {
  uint32_t offered = SlotOf(part, kOffered);
  SlotIn(mapping_, part.slot).compare_exchange_strong(offered, 0);
}

void SharedArea::TakeBack(uint64_t reader, uint64_t calls_below) {
  MutexLock lock(mutex_);
  for (const auto& [offset, taken] : parts_) {
    if (taken.reader == reader && taken.call < calls_below) TakeBack(taken.part);
  }
}

void SharedArea::Forget(uint64_t reader) {
  MutexLock lock(mutex_);
  for (const auto& [offset, taken] : parts_) {
    if (taken.reader != reader) continue;
    TakeBack(taken.part);
    uint32_t claimed = SlotOf(taken.part, kClaimed);
    SlotIn(mapping_, taken.part.slot).compare_exchange_strong(claimed, 0);
  }
  Reclaim();
}

void SharedArea::Reclaim() {
  std::erase_if(parts_, [this](const auto& entry) FL_REQUIRES(mutex_) {
    const uint32_t slot = entry.second.part.slot;
    if (SlotIn(mapping_, slot).load(std::memory_order_acquire) != 0) return false;
    free_slots_.push_back(slot);
    return true;
  });
}

size_t SharedArea::used() {
  MutexLock lock(mutex_);
  Reclaim();
  size_t bytes = 0;
  for (const auto& [offset, taken] : parts_) bytes += taken.part.size;
  return bytes;
}

StatusOr<std::shared_ptr<SharedView>> SharedView::Open(const SharedName& name) {
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.file);
  const FileCloser file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) return absl::NotFoundError(path + " does not exist");
  if (file.get() < 0) return SystemError(path);
  struct stat info = {};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || fstat(file.get(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) <= kFirstOffset) {
    return absl::NotFoundError(fmt::format("shared memory: {} is not an area", path));
  }
  FL_ASSIGN_OR_RETURN(MappedMemory mapping, MapArea(file.get(), static_cast<size_t>(info.st_size)));
  if (HeaderOf(mapping).token != name.token) {
    return absl::NotFoundError(fmt::format("shared memory: {} is another area", path));
  }
  return std::shared_ptr<SharedView>(new SharedView(std::move(mapping)));
}

StatusOr<ByteSlice> SharedView::Read(const SharedPart& part) {
  if (part.slot >= SharedHeader::kSlots || part.offset < kFirstOffset ||
      part.offset > mapping_.size() || part.size > mapping_.size() - part.offset) {
    return InvalidArgument("shared memory: {} bytes at {}, slot {}, in an area of {} bytes",
                           part.size, part.offset, part.slot, mapping_.size());
  }
  uint32_t offered = SlotOf(part, kOffered);
  if (!SlotIn(mapping_, part.slot)
           .compare_exchange_strong(offered, SlotOf(part, kClaimed), std::memory_order_acq_rel)) {
    return FailedPrecondition("shared memory: the sender has taken back {} bytes of slot {}",
                              part.size, part.slot);
  }
  const std::byte* data = mapping_.data() + part.offset;
  const auto let_go = [view = shared_from_this(), part](const std::byte*) {
    uint32_t claimed = SlotOf(part, kClaimed);
    SlotIn(view->mapping_, part.slot)
        .compare_exchange_strong(claimed, 0, std::memory_order_acq_rel);
  };
  return ByteSlice{data, part.size, std::shared_ptr<const std::byte>(data, let_go)};
}

}  // namespace flotilla
