// Jobs in one process, for the tests of this directory: every role is a thread that runs the same
// program, as processes would. For test programs only.
#pragma once

#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/fleet.h"
#include "flotilla/launch/free_port.h"
#include "flotilla/launch/role.h"

namespace flotilla {

inline FleetInit AsRole(const Role& role) {
  FleetInit init{.role = role, .environment = {}, .log = [](std::string_view) {}};
  init.job.start_timeout_ms = 60'000;
  init.job.flags.silent_bound_ms = 120'000;
  return init;
}

// Runs program(fleet) in every role. The first error of any of them, servers first.
inline Status RunThreadJob(int servers, int trainers,
                           const std::function<Status(Fleet& fleet)>& program) {
  Role role;
  FL_ASSIGN_OR_RETURN(role.servers, FreeAddresses(servers, 0));
  role.trainers = trainers;
  std::vector<Status> results(static_cast<size_t>(servers + trainers));
  std::vector<std::thread> processes;
  for (int i = 0; i < servers + trainers; ++i) {
    role.kind = i < servers ? Role::Kind::kServer : Role::Kind::kTrainer;
    role.index = i < servers ? i : i - servers;
    processes.emplace_back([&results, &program, i, role] {
      Fleet fleet;
      results[i] = fleet.init(AsRole(role));
      if (results[i].ok()) results[i] = program(fleet);
    });
  }
  for (std::thread& process : processes) process.join();
  for (const Status& result : results) FL_RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

}  // namespace flotilla
