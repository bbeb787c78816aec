// The role of a process in a job: the only process of a local run, one of the servers, or one of
// the trainers. Each source of the role is one file pair: role_environment.h reads the tutorials'
// variables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

struct Role {
  enum class Kind { kLocal, kServer, kTrainer };

  Kind kind = Kind::kLocal;
  int index = 0;                     // among the servers or the trainers
  std::vector<std::string> servers;  // "host:port" or "unix:PATH", the same in every process
  int trainers = 1;                  // number of trainers
  std::optional<int> threads;        // workers of a trainer, if the source gives it

  bool is_server() const { return kind == Kind::kServer; }
  bool is_trainer() const { return kind == Kind::kTrainer; }
  // "server 1 of 2 (127.0.0.1:6171)", "trainer 0 of 2", "local"
  std::string ToString() const;

  bool operator==(const Role&) const = default;
};

// Ok, or an error that names the contradiction: an index out of range, an address that is invalid
// or listed twice.
Status CheckRole(const Role& role);

}  // namespace flotilla
