// Addresses of servers, "host:port", "[ipv6]:port" or "unix:/path", and why one cannot be bound.
#pragma once

#include <string>

#include "flotilla/base/status.h"

namespace flotilla {

// InvalidArgument, with the known forms, if the text is not an address.
Status CheckAddress(const std::string& address);

// Ok if a server can listen there now. Otherwise an error that names the address, the cause and, if
// the system tells, the process that holds it. A stale socket file, on which no process listens any
// more, is removed.
Status CheckBindable(const std::string& address);

}  // namespace flotilla
