// Ports of this machine for the servers of a local job.
#pragma once

#include <string>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// Addresses "127.0.0.1:port" that are free now: the ports from `start_port` on, or any if that is
// 0. An error names the first port that is taken and, if the system tells, the process that holds
// it. Another program may still take a port before it is used.
StatusOr<std::vector<std::string>> FreeAddresses(int count, int start_port);

}  // namespace flotilla
