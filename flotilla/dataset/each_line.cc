#include "flotilla/dataset/each_line.h"

#include <cstdint>

#include "flotilla/dataset/line_reader.h"

namespace flotilla {

Status ReadEachLine(const std::string& path,
                    const std::function<Status(std::string_view line)>& on_line) {
  constexpr int64_t kLines = 4096;
  const LineReaderOptions options = {};
  LineReader reader({path}, options);
  TextLines lines;
  while (true) {
    FL_ASSIGN_OR_RETURN(const int64_t count, reader.Take(kLines, &lines));
    if (count == 0) return absl::OkStatus();
    LineCursor cursor(lines);
    for (std::string_view line; cursor.Next(&line);) {
      const Status status = cursor.too_long() ? InvalidArgument("the line is longer than {} bytes",
                                                                options.max_line_bytes)
                                              : on_line(line);
      if (!status.ok()) return Annotate(status, fmt::format("{}:{}", path, cursor.line_number()));
    }
  }
}

}  // namespace flotilla
