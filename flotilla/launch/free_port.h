// Ports of this machine for the servers of a local job.
#pragma once

#include <string>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// Addresses "127.0.0.1:port" that are free now: the ports from `start_port` on, or any if that is
// 0. An error names the first that is taken and, where the system tells, who holds it.
// Nothing keeps another program from taking one before it is used.
StatusOr<std::vector<std::string>> FreeAddresses(int count, int start_port);

}  // namespace flotilla
