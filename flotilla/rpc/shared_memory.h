// Processes of one machine hand each other tensors through shared memory (shared_area.h): a pair of
// wrappers around any transport and the service at its other end. Messages go the usual way, but
// large slices of them are places in memory.
//
// A trainer offers its area with the first request to each server. A server that cannot reach it,
// because it runs elsewhere, says so, and from then on messages to it are as if nothing was
// wrapped. docs/wire_protocol.md has the bytes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/rpc/shared_area.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

struct SharedMemoryOptions {
  // What the area of a process may hold at once, a server's for all trainers together; what does
  // not fit goes the usual way. Pages are taken as used.
  size_t area_bytes = size_t{256} << 20;
  // Slices from so many bytes on are shared: fewer are copied faster than told about.
  size_t min_slice_bytes = size_t{16} << 10;
};

// The trainer's end. The transport itself when this machine has no shared memory.
std::unique_ptr<Transport> ShareMemory(std::unique_ptr<Transport> transport,
                                       const SharedMemoryOptions& options);

// The server's end. Also serves trainers that share nothing.
class SharedMemoryService : public Service {
 public:
  // REQUIRES: `service` outlives it.
  SharedMemoryService(Service* service, const SharedMemoryOptions& options);
  ~SharedMemoryService() override;

  void Handle(Payload request, ReplyCallback reply) override;

  // Trainers that share memory with this process, as far as is known.
  int peers();

 private:
  struct Peer;

  // The peer that has this area; makes friends with it at its first request.
  StatusOr<std::shared_ptr<Peer>> PeerOf(const SharedName& name);
  // Forgets peers that have ended. REQUIRES: mutex_ is held.
  void ForgetGone();

  Service* const service_;
  const SharedMemoryOptions options_;
  const std::shared_ptr<SharedArea> area_;  // of all answers; null: there is no shared memory

  std::mutex mutex_;
  std::vector<std::shared_ptr<Peer>> peers_;  // guarded by mutex_
};

}  // namespace flotilla
