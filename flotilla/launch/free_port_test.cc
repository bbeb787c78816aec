#include "flotilla/launch/free_port.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

TEST(FreePortTest, AddressesAreDistinct) {
  const auto addresses = FreeAddresses(20, 0);
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_EQ(std::set<std::string>(addresses->begin(), addresses->end()).size(), 20u);
  for (const std::string& address : *addresses) EXPECT_EQ(address.substr(0, 10), "127.0.0.1:");
}

TEST(FreePortTest, APortThatIsTakenIsNamed) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin_port);
  const auto addresses = FreeAddresses(1, port);
  EXPECT_FALSE(addresses.ok());
  EXPECT_THAT(std::string(Message(addresses.status())), HasSubstr(std::to_string(port)));
  close(fd);
}

}  // namespace
}  // namespace flotilla
