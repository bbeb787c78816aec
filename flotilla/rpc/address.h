// Addresses of servers, "host:port", "[ipv6]:port" or "unix:/path", and why one cannot be bound.
#pragma once

#include <string>

#include "flotilla/base/status.h"

namespace flotilla {

// InvalidArgument, with the forms that are known, when the text is no address.
Status CheckAddress(const std::string& address);

// Ok when a server can listen there now. Otherwise an error that names the address, the cause and,
// where the system tells, the process that holds it. A socket file that nobody listens to any more
// is removed.
Status CheckBindable(const std::string& address);

}  // namespace flotilla
