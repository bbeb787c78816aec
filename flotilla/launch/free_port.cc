#include "flotilla/launch/free_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "flotilla/rpc/address.h"

namespace flotilla {
namespace {

constexpr char kHost[] = "127.0.0.1";

// Sockets that hold their ports until all addresses are found.
class HeldSockets {
 public:
  ~HeldSockets() {
    for (const int fd : fds_) close(fd);
  }

  // Finds any free port.
  StatusOr<int> Hold() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return Internal("cannot create a socket: {}", strerror(errno));
    fds_.push_back(fd);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      return ResourceExhausted("no free port on {}: {}", kHost, strerror(errno));
    }
    return ntohs(address.sin_port);
  }

 private:
  std::vector<int> fds_;
};

}  // namespace

StatusOr<std::vector<std::string>> FreeAddresses(int count, int start_port) {
  std::vector<std::string> addresses;
  HeldSockets held;
  for (int i = 0; i < count; ++i) {
    int port = start_port + i;
    if (start_port == 0) {
      FL_ASSIGN_OR_RETURN(port, held.Hold());
    }
    addresses.push_back(fmt::format("{}:{}", kHost, port));
    if (start_port != 0) FL_RETURN_IF_ERROR(CheckBindable(addresses.back()));
  }
  return addresses;
}

}  // namespace flotilla
