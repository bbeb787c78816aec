#include "flotilla/schema/builtin_schemas.h"

#include <fmt/format.h>

#include <string>

namespace flotilla {

std::string_view BuiltinSchema(std::string_view name) {
  static const std::string criteo = [] {
    std::string text = "delimiter=tab quotes=no trim=yes min_count=4\nlabel:label\n";
    for (int i = 1; i <= 13; ++i) text += fmt::format("I{}:number(log)+bucket\n", i);
    for (int c = 1; c <= 26; ++c) text += fmt::format("C{}:category\n", c);
    return text;
  }();
  return name == "criteo" ? std::string_view(criteo) : std::string_view();
}

}  // namespace flotilla
