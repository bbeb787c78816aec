#include "flotilla/rpc/address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

bool Says(const Status& status, const std::string& text) {
  return status.ToString().find(text) != std::string::npos;
}

TEST(AddressTest, TheThreeFormsAreKnownAndOthersAreNot) {
  for (const char* good : {"127.0.0.1:6170", "node-3.rack:0", "[::1]:65535", "unix:/tmp/x"}) {
    EXPECT_TRUE(CheckAddress(good).ok()) << good;
  }
  for (const char* bad : {"", "localhost", ":80", "host:", "host:port", "host:65536", "host:-1",
                          "host:80x", "unix:"}) {
    EXPECT_EQ(CheckAddress(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_TRUE(Says(CheckAddress("localhost"), "expected host:port, [ipv6]:port or unix:/path"));
  EXPECT_FALSE(CheckAddress("unix:" + std::string(200, 'x')).ok());
}

// A socket that listens at a port of the system's choice, or at a path.
class Holder {
 public:
  Holder() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(name);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&name), size), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &size);
    address_ = "127.0.0.1:" + std::to_string(ntohs(name.sin_port));
  }
  explicit Holder(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof(name.sun_path) - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    address_ = "unix:" + path;
  }
  ~Holder() { close(fd_); }
  const std::string& address() const { return address_; }

 private:
  const int fd_;
  std::string address_;
};

TEST(AddressTest, APortInUseNamesItsHolder) {
  const Holder holder;
  const Status status = CheckBindable(holder.address());
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_TRUE(Says(status, "cannot listen at " + holder.address())) << status;
  EXPECT_TRUE(Says(status, "held by process " + std::to_string(getpid()))) << status;
}

TEST(AddressTest, AFreePortCanBeBoundAgainAndAgain) {
  std::string address;
  {
    const Holder holder;
    address = holder.address();
  }
  EXPECT_TRUE(CheckBindable(address).ok());
  EXPECT_TRUE(CheckBindable(address).ok());
}

TEST(AddressTest, ASocketFileInUseNamesItsHolder) {
  const TempDir temp;
  const Holder holder(temp.path() + "/s");
  const Status status = CheckBindable(holder.address());
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_TRUE(Says(status, "held by process " + std::to_string(getpid()))) << status;
}

TEST(AddressTest, ASocketFileThatNobodyListensToIsRemoved) {
  const TempDir temp;
  const std::string path = temp.path() + "/s";
  { const Holder gone(path); }
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(CheckBindable("unix:" + path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(AddressTest, AFileThatIsNoSocketIsLeftAlone) {
  const TempDir temp;
  const std::string path = temp.Write("data", "precious");
  EXPECT_FALSE(CheckBindable("unix:" + path).ok());
  EXPECT_EQ(std::filesystem::file_size(path), 8u);
}

TEST(AddressTest, APlaceThatDoesNotExistIsNamed) {
  const Status status = CheckBindable("unix:/nowhere/at/all");
  EXPECT_TRUE(Says(status, "cannot listen at unix:/nowhere/at/all: No such file")) << status;
  EXPECT_TRUE(Says(CheckBindable("203.0.113.9:0"), "203.0.113.9:0"));
}

}  // namespace
}  // namespace flotilla
