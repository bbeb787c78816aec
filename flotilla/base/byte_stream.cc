#include "flotilla/base/byte_stream.h"

#include <algorithm>
#include <vector>

namespace flotilla {

Status ByteStream::Skip(int64_t bytes) {
  std::vector<char> scratch(std::min<int64_t>(bytes, 1 << 20));
  for (int64_t left = bytes; left > 0;) {
    const size_t step = std::min<int64_t>(left, scratch.size());
    FL_ASSIGN_OR_RETURN(const size_t got, Read(std::span(scratch).first(step)));
    if (got == 0) {
      return InvalidArgument("{}: ended {} bytes before the position to resume at", name(), left);
    }
    left -= static_cast<int64_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace flotilla
