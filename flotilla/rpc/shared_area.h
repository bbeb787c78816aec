// Memory that one process fills and others on its machine read, without a copy by the kernel. It
// holds the tensors that shared_memory.h sends by reference instead of as bytes.
//
// An area is an anonymous file in memory. Other processes open it through its owner's /proc entry,
// so nothing is left behind, however the owner ends. A reader claims a part before it reads it; the
// part then stays in place until the reader releases it. A part that has not been claimed can be
// taken back, and a reader that comes too late gets an error.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/payload.h"

namespace flotilla {

// How another process finds an area. The token distinguishes it from other files that have the same
// process and file numbers, there or in another container.
struct SharedName {
  uint32_t process = 0;
  uint32_t file = 0;
  uint64_t token = 0;

  bool operator==(const SharedName&) const = default;
};

// A range of bytes of an area. Both sides record its state in the slot; the generation
// distinguishes this use of the slot from others.
struct SharedPart {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t slot = 0;
  uint32_t generation = 0;
};

// The header of an area, shared by both sides.
struct SharedHeader {
  static constexpr uint32_t kSlots = 1024;

  uint64_t token = 0;
  // 0: free. Otherwise 4 * generation + 1: offered, not claimed yet; 2: being filled; 3: claimed by
  // its reader.
  std::atomic<uint32_t> slots[kSlots] = {};
};

// The writing side. Thread-safe.
class SharedArea {
 public:
  // Allocates pages only as they are filled. An error if the system does not support such files.
  static StatusOr<std::unique_ptr<SharedArea>> Make(size_t bytes);
  ~SharedArea();
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  const SharedName& name() const { return name_; }

  // Copies bytes to free space; returns nothing if there is no room. The part is in use until the
  // reader releases it, it is taken back, or the reader is forgotten. `call` is the number of the
  // call that it belongs to, among all calls with this reader.
  std::optional<SharedPart> Put(std::span<const std::byte> bytes, uint64_t reader = 0,
                                uint64_t call = 0);
  // Frees a part unless its reader has claimed it; then the reader will release it.
  void TakeBack(const SharedPart& part);
  // The same for all parts that were put for a reader, for calls below this number.
  void TakeBack(uint64_t reader, uint64_t calls_below);
  // Frees all parts that were put for a reader. REQUIRES: the reader has ended and reads no more.
  void Forget(uint64_t reader);
  // Bytes in use now.
  size_t used();

 private:
  SharedArea() = default;

  struct Taken {
    SharedPart part;
    uint64_t reader = 0;
    uint64_t call = 0;
  };

  std::optional<SharedPart> Take(size_t size, uint64_t reader, uint64_t call);
  // Frees the parts that readers have released.
  void Reclaim() FL_REQUIRES(mutex_);

  // Constant after construction.
  int file_ = -1;
  MappedMemory mapping_;
  SharedName name_;

  Mutex mutex_;
  std::map<uint64_t, Taken> parts_ FL_GUARDED_BY(mutex_);  // by offset
  std::vector<uint32_t> free_slots_ FL_GUARDED_BY(mutex_);
  uint32_t generation_ FL_GUARDED_BY(mutex_) = 0;  // of the part that was put last
};

// The reading side. Thread-safe.
class SharedView : public std::enable_shared_from_this<SharedView> {
 public:
  // An error if this process cannot open the area: NotFound if there is no area of this name, for
  // example because its process has ended, is on another machine or in another container.
  static StatusOr<std::shared_ptr<SharedView>> Open(const SharedName& name);

  // Claims a part; it is released when the last copy of the slice is destroyed. InvalidArgument if
  // it is not within the area, FailedPrecondition if it was taken back or has been claimed before.
  StatusOr<ByteSlice> Read(const SharedPart& part);

 private:
  explicit SharedView(MappedMemory mapping) : mapping_(std::move(mapping)) {}

  const MappedMemory mapping_;
};

}  // namespace flotilla
