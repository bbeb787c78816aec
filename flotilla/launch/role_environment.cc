#include "flotilla/launch/role_environment.h"

#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "flotilla/base/parse_number.h"
#include "flotilla/rpc/address.h"

namespace flotilla {
namespace {

StatusOr<std::string> Need(const Environment& environment, const std::string& name,
                           const std::string& expected) {
  std::optional<std::string> value = ValueOf(environment, name);
  if (value && !value->empty()) return *std::move(value);
  return InvalidArgument("{} is {}: {} was expected", name, value ? "empty" : "not set", expected);
}

StatusOr<int> NeedNumber(const Environment& environment, const std::string& name, int low,
                         const std::string& expected) {
  FL_ASSIGN_OR_RETURN(const std::string text, Need(environment, name, expected));
  const std::optional<int> number = ParseWhole<int>(text);
  if (number && *number >= low) return *number;
  return InvalidArgument("{} is '{}': {} was expected", name, text, expected);
}

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

StatusOr<std::vector<std::string>> Servers(const Environment& environment) {
  constexpr char kName[] = "PADDLE_PSERVERS_IP_PORT_LIST";
  FL_ASSIGN_OR_RETURN(const std::string text,
                      Need(environment, kName, "the servers as host:port,host:port"));
  std::vector<std::string> servers = SplitList(text);
  for (size_t i = 0; i < servers.size(); ++i) {
    const Status status = CheckAddress(servers[i]);
    if (!status.ok()) return Annotate(status, fmt::format("{} is '{}'", kName, text));
    if (std::find(servers.begin(), servers.begin() + static_cast<std::ptrdiff_t>(i), servers[i]) !=
        servers.begin() + static_cast<std::ptrdiff_t>(i)) {
      return InvalidArgument("{} is '{}': {} is listed twice", kName, text, servers[i]);
    }
  }
  return servers;
}

Status FillThreads(const Environment& environment, Role* role) {
  if (!environment.contains("CPU_NUM")) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(role->threads,
                      NeedNumber(environment, "CPU_NUM", 1, "a number of workers of at least 1"));
  return absl::OkStatus();
}

Status FillTrainer(const Environment& environment, Role* role) {
  role->kind = Role::Kind::kTrainer;
  FL_ASSIGN_OR_RETURN(role->index, NeedNumber(environment, "PADDLE_TRAINER_ID", 0,
                                              "the index of this trainer, from 0,"));
  if (role->index >= role->trainers) {
    return InvalidArgument(
        "PADDLE_TRAINER_ID is {}: a number below PADDLE_TRAINERS_NUM, {}, was "
        "expected",
        role->index, role->trainers);
  }
  return FillThreads(environment, role);
}

Status FillServer(const Environment& environment, Role* role) {
  role->kind = Role::Kind::kServer;
  FL_ASSIGN_OR_RETURN(const std::string ip,
                      Need(environment, "POD_IP", "the address of this server"));
  FL_ASSIGN_OR_RETURN(const std::string port,
                      Need(environment, "PADDLE_PORT", "the port of this server"));
  // A unix socket has a path instead of a port.
  if (ip != "unix") {
    FL_RETURN_IF_ERROR(
        NeedNumber(environment, "PADDLE_PORT", 1, "the port of this server").status());
  }
  const std::string own = fmt::format("{}:{}", ip, port);
  const auto at = std::find(role->servers.begin(), role->servers.end(), own);
  if (at == role->servers.end()) {
    return InvalidArgument(
        "POD_IP is '{}' and PADDLE_PORT '{}': {} was expected to be in "
        "PADDLE_PSERVERS_IP_PORT_LIST, {}",
        ip, port, own, fmt::join(role->servers, ","));
  }
  role->index = static_cast<int>(at - role->servers.begin());
  return absl::OkStatus();
}

// Without TRAINING_ROLE, variables that only a process of a job has must not be set.
Status CheckNoRole(const Environment& environment) {
  for (const char* name : {"PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINER_ID", "PADDLE_PORT"}) {
    if (const std::optional<std::string> value = ValueOf(environment, name)) {
      return InvalidArgument(
          "TRAINING_ROLE is not set: TRAINER or PSERVER was expected, because {} is '{}'; leave "
          "both out to train in one process",
          name, *value);
    }
  }
  return absl::OkStatus();
}

}  // namespace

Environment ProcessEnvironment() {
  Environment variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::optional<std::string> ValueOf(const Environment& environment, const std::string& name) {
  const auto at = environment.find(name);
  if (at == environment.end()) return std::nullopt;
  return at->second;
}

StatusOr<Role> RoleFromEnvironment(const Environment& environment) {
  Role role;
  const std::optional<std::string> kind = ValueOf(environment, "TRAINING_ROLE");
  if (!kind) {
    FL_RETURN_IF_ERROR(CheckNoRole(environment));
    FL_RETURN_IF_ERROR(FillThreads(environment, &role));
    return role;
  }
  if (*kind != "TRAINER" && *kind != "PSERVER") {
    return InvalidArgument("TRAINING_ROLE is '{}': TRAINER or PSERVER was expected", *kind);
  }
  FL_ASSIGN_OR_RETURN(role.trainers, NeedNumber(environment, "PADDLE_TRAINERS_NUM", 1,
                                                "a number of trainers of at least 1"));
  FL_ASSIGN_OR_RETURN(role.servers, Servers(environment));
  FL_RETURN_IF_ERROR(*kind == "TRAINER" ? FillTrainer(environment, &role)
                                        : FillServer(environment, &role));
  return role;
}

std::map<std::string, std::string> EnvironmentOfRole(const Role& role) {
  std::map<std::string, std::string> variables = {
      {"TRAINING_ROLE", role.is_server() ? "PSERVER" : "TRAINER"},
      {"PADDLE_TRAINERS_NUM", fmt::to_string(role.trainers)},
      {"PADDLE_PSERVERS_IP_PORT_LIST", fmt::format("{}", fmt::join(role.servers, ","))}};
  if (role.is_server()) {
    const std::string& own = role.servers[role.index];
    const size_t colon = own.rfind(':');
    variables["POD_IP"] = own.substr(0, colon);
    variables["PADDLE_PORT"] = own.substr(colon + 1);
  } else {
    variables["PADDLE_TRAINER_ID"] = fmt::to_string(role.index);
    if (role.threads) variables["CPU_NUM"] = fmt::to_string(*role.threads);
  }
  return variables;
}

}  // namespace flotilla
