#include "flotilla/base/hash.h"

#include <xxhash.h>

namespace flotilla {

uint64_t HashBytes(std::string_view bytes, uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

}  // namespace flotilla
