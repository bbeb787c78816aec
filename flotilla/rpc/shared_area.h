// Memory that one process fills and others on its machine read, without a copy by the kernel: where
// tensors lie that shared_memory.h sends as a place instead of as bytes.
//
// An area is a nameless file in memory. Others reach it through the process that has it, so nothing
// is left behind, however that process ends. A reader claims a part before it reads it; the part
// then stays where it is until the reader lets it go. What nobody has claimed can be taken back,
// and a reader that comes too late is refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/rpc/payload.h"

namespace flotilla {

// How another process finds an area. The token tells it from whatever else has its number of a
// process and of a file, there or in another container.
struct SharedName {
  uint32_t process = 0;
  uint32_t file = 0;
  uint64_t token = 0;

  bool operator==(const SharedName&) const = default;
};

// Bytes of an area. The slot is where both sides tell how far they are with them; the generation
// tells this use of the slot from others.
struct SharedPart {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t slot = 0;
  uint32_t generation = 0;
};

// The beginning of an area, as both sides see it.
struct SharedHeader {
  static constexpr uint32_t kSlots = 1024;

  uint64_t token = 0;
  // 0: free. Otherwise 4 * generation + 1: offered, nobody has claimed it; 2: being filled;
  // 3: claimed by its reader.
  std::atomic<uint32_t> slots[kSlots] = {};
};

// A mapping of a whole area. Move-only.
class SharedMapping {
 public:
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  // An error says why the file cannot be mapped.
  static StatusOr<SharedMapping> Make(int file, size_t bytes);

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  SharedHeader& header() const { return *reinterpret_cast<SharedHeader*>(data_); }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The side that fills. Thread-safe.
class SharedArea {
 public:
  // Takes pages only as they are filled. An error when the system has no such files.
  static StatusOr<std::unique_ptr<SharedArea>> Make(size_t bytes);
  ~SharedArea();
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  const SharedName& name() const { return name_; }

  // Copies bytes to where nothing lies; nothing when there is no room. The part is taken until the
  // reader lets it go, it is taken back, or the reader is forgotten. `call` numbers what it belongs
  // to among all that is put for the reader.
  std::optional<SharedPart> Put(std::span<const std::byte> bytes, uint64_t reader = 0,
                                uint64_t call = 0);
  // Frees a part unless its reader has claimed it; then the reader will let it go.
  void TakeBack(const SharedPart& part);
  // The same for all that was put for a reader for calls below this number.
  void TakeBack(uint64_t reader, uint64_t calls_below);
  // Frees what was put for a reader. REQUIRES: it reads no more, it has ended.
  void Forget(uint64_t reader);
  // Bytes that are taken now.
  size_t used();

 private:
  SharedArea() = default;

  struct Taken {
    SharedPart part;
    uint64_t reader = 0;
    uint64_t call = 0;
  };

  std::optional<SharedPart> Take(size_t size, uint64_t reader, uint64_t call);
  // Frees the parts that readers have let go. REQUIRES: mutex_ is held.
  void Reclaim();

  // Constant after construction.
  int file_ = -1;
  SharedMapping mapping_;
  SharedName name_;

  std::mutex mutex_;
  std::map<uint64_t, Taken> parts_;   // by offset; guarded by mutex_
  std::vector<uint32_t> free_slots_;  // guarded by mutex_
  uint32_t generation_ = 0;           // of the part that was put last; guarded by mutex_
};

// The side that reads. Thread-safe.
class SharedView : public std::enable_shared_from_this<SharedView> {
 public:
  // An error when this process cannot reach the area: NotFound when there is none of this name, as
  // when its process has ended, is on another machine or in another container.
  static StatusOr<std::shared_ptr<SharedView>> Open(const SharedName& name);

  // Claims a part; it is let go when the last copy of the slice ends. InvalidArgument when it is
  // not within the area, FailedPrecondition when it was taken back or has been claimed before.
  StatusOr<ByteSlice> Read(const SharedPart& part);

 private:
  explicit SharedView(SharedMapping mapping) : mapping_(std::move(mapping)) {}

  const SharedMapping mapping_;
};

}  // namespace flotilla
