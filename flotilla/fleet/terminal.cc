#include "flotilla/fleet/terminal.h"

#include <spdlog/sinks/ostream_sink.h>

namespace flotilla {

std::unique_ptr<spdlog::logger> MakeLog(std::ostream& err) {
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(err, /*force_flush=*/true);
  auto log = std::make_unique<spdlog::logger>("flotilla", std::move(sink));
  log->set_pattern("[%H:%M:%S] %v");
  return log;
}

}  // namespace flotilla
