#include "flotilla/rpc/address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "flotilla/base/parse_number.h"

namespace flotilla {

namespace {

constexpr std::string_view kUnix = "unix:";

bool IsUnix(std::string_view address) { return address.starts_with(kUnix); }

// A socket that is closed at the end of the scope.
class Socket {
 public:
  explicit Socket(int family) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// host and port of "host:port" or "[host]:port".
bool SplitHostPort(const std::string& address, std::string* host, std::string* port) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  *host = address.substr(0, colon);
  *port = address.substr(colon + 1);
  if (host->front() == '[' && host->back() == ']') *host = host->substr(1, host->size() - 2);
  const std::optional<int> number = ParseWhole<int>(*port);
  return number && *number >= 0 && *number <= 65535 && !host->empty();
}

// The inode of the socket that listens at a TCP port or a path, from the lists in /proc/net; empty
// if there is none or the system does not tell.
std::string InodeOfPort(int port) {
  for (const char* list : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(list);
    const std::string wanted = fmt::format(":{:04X}", port);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
          timeout >> inode;
      if (state == "0A" && local.ends_with(wanted)) return inode;
    }
  }
  return "";
}

std::string InodeOfPath(const std::string& path) {
  std::ifstream lines("/proc/net/unix");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, references, protocol, flags, type, state, inode, name;
    words >> number >> references >> protocol >> flags >> type >> state >> inode >> name;
    // Sockets of its connections have the same name; only one of them listens.
    if (name == path && flags == "00010000") return inode;
  }
  return "";
}

// " (held by process 123, name)", or empty.
std::string Holder(const std::string& inode) {
  if (inode.empty()) return "";
  const std::string wanted = "socket:[" + inode + "]";
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code denied;
    for (const auto& fd : std::filesystem::directory_iterator(process.path() / "fd", denied)) {
      std::error_code gone;
      if (std::filesystem::read_symlink(fd.path(), gone) != wanted) continue;
      std::string name;
      std::getline(std::ifstream(process.path() / "comm") >> std::ws, name);
      return fmt::format(" (held by process {}, {})", pid, name);
    }
  }
  return "";
}

Status CannotListen(const std::string& address, int error, const std::string& holder) {
  const std::string text =
      fmt::format("cannot listen at {}: {}{}", address, std::strerror(error), holder);
  return error == EADDRINUSE ? absl::AlreadyExistsError(text) : absl::FailedPreconditionError(text);
}

Status CheckUnix(const std::string& address) {
  const std::string path = address.substr(kUnix.size());
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof(name.sun_path) - 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&name);
  {
    const Socket probe(AF_UNIX);
    if (connect(probe.fd(), generic, sizeof(name)) == 0) {
      return CannotListen(address, EADDRINUSE, Holder(InodeOfPath(path)));
    }
    if (errno == ECONNREFUSED && std::filesystem::is_socket(path)) unlink(path.c_str());
  }
  const Socket probe(AF_UNIX);
  if (bind(probe.fd(), generic, sizeof(name)) != 0) return CannotListen(address, errno, "");
  unlink(path.c_str());
  return absl::OkStatus();
}

Status CheckTcp(const std::string& address) {
  std::string host, port;
  SplitHostPort(address, &host, &port);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return InvalidArgument("cannot listen at {}: {}", address, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  const Socket probe(found->ai_family);
  const int yes = 1;
  setsockopt(probe.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(probe.fd(), found->ai_addr, found->ai_addrlen) == 0) return absl::OkStatus();
  const int error = errno;
  return CannotListen(address, error,
                      error == EADDRINUSE ? Holder(InodeOfPort(std::stoi(port))) : "");
}

}  // namespace

Status CheckAddress(const std::string& address) {
  std::string host, port;
  if (IsUnix(address)) {
    const size_t length = address.size() - kUnix.size();
    if (length > 0 && length < sizeof(sockaddr_un::sun_path)) return absl::OkStatus();
    return InvalidArgument("address {}: the path must have 1 to {} letters", address,
                           sizeof(sockaddr_un::sun_path) - 1);
  }
  if (SplitHostPort(address, &host, &port)) return absl::OkStatus();
  return InvalidArgument("address \"{}\": expected host:port, [ipv6]:port or unix:/path", address);
}

Status CheckBindable(const std::string& address) {
  FL_RETURN_IF_ERROR(CheckAddress(address));
  return IsUnix(address) ? CheckUnix(address) : CheckTcp(address);
}

}  // namespace flotilla
