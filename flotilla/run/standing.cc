#include "flotilla/run/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace flotilla {

StatusOr<Standing> StandingOfAll(Group& group, std::string_view name, const Standing& own) {
  const std::string text = fmt::format("{:d} {:d} {:d} {} {} {}", own.ended, own.wish, own.stop,
                                       own.exit_code, own.pauses, own.cause);
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> texts, group.Gather(name, text));
  Standing all{.ended = true};
  for (size_t t = 0; t < texts.size(); ++t) {
    if (texts[t].empty()) continue;  // the trainer has left
    Standing one;
    std::istringstream in(texts[t]);
    in >> one.ended >> one.wish >> one.stop >> one.exit_code >> one.pauses;
    if (in.fail()) return InvalidArgument("{}: trainer {} sent \"{}\"", name, t, texts[t]);
    all.ended = all.ended && one.ended;
    all.wish = all.wish || one.wish;
    all.stop = all.stop || one.stop;
    all.exit_code = std::max(all.exit_code, one.exit_code);
    all.pauses = std::max(all.pauses, one.pauses);
    if (all.cause.empty()) std::getline(in >> std::ws, all.cause);
  }
  return all;
}

}  // namespace flotilla
