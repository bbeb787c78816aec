#include "flotilla/launch/role.h"

#include <set>

#include "flotilla/rpc/address.h"

namespace flotilla {

std::string Role::ToString() const {
  switch (kind) {
    case Kind::kLocal:
      return "local";
    case Kind::kServer:
      return fmt::format("server {} of {} ({})", index, servers.size(), servers[index]);
    case Kind::kTrainer:
      return fmt::format("trainer {} of {}", index, trainers);
  }
  return "";
}

Status CheckRole(const Role& role) {
  if (role.kind == Role::Kind::kLocal) return absl::OkStatus();
  if (role.servers.empty()) return InvalidArgument("there are no servers");
  if (role.trainers < 1) return InvalidArgument("{} trainers: at least 1 is needed", role.trainers);
  std::set<std::string> seen;
  for (const std::string& server : role.servers) {
    FL_RETURN_IF_ERROR(CheckAddress(server));
    if (!seen.insert(server).second) return InvalidArgument("server {} is listed twice", server);
  }
  const int count = role.is_server() ? static_cast<int>(role.servers.size()) : role.trainers;
  if (role.index < 0 || role.index >= count) {
    return InvalidArgument("index {} is not below the number of {}, {}", role.index,
                           role.is_server() ? "servers" : "trainers", count);
  }
  if (role.threads && *role.threads < 1) {
    return InvalidArgument("{} threads: at least 1 is needed", *role.threads);
  }
  return absl::OkStatus();
}

}  // namespace flotilla
