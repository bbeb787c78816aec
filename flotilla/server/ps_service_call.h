// A request that is being handled by the service. For ps_service*.cc only.
#pragma once

#include "flotilla/server/ps_service.h"

namespace flotilla {

struct PsService::Call {
  RequestMessage message;
  ReplyCallback reply;
  const Method* method = nullptr;
  int trainer = 0;

  const wire::RequestHead& head() const { return message.head; }
};

}  // namespace flotilla
