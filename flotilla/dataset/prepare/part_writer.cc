#include "flotilla/dataset/prepare/part_writer.h"

#include <algorithm>

namespace flotilla {
namespace {

// The bytes of the first `lines` lines.
size_t BytesOfLines(std::string_view text, int64_t lines) {
  size_t bytes = 0;
  for (int64_t i = 0; i < lines; ++i) bytes = text.find('\n', bytes) + 1;
  return bytes;
}

}  // namespace

std::string PartName(int64_t part) { return fmt::format("part-{:06}", part); }

Status PartFileWriter::Append(std::string_view text, int64_t lines) {
  while (lines > 0) {
    const int64_t in_part = lines_ % part_lines_;
    if (in_part == 0) {
      FL_RETURN_IF_ERROR(Finish());
      FL_ASSIGN_OR_RETURN(OutputFile file,
                          OutputFile::Create(directory_ + "/" + PartName(lines_ / part_lines_)));
      file_ = std::make_unique<OutputFile>(std::move(file));
    }
    const int64_t fit = std::min(lines, part_lines_ - in_part);
    const size_t bytes = fit == lines ? text.size() : BytesOfLines(text, fit);
    FL_RETURN_IF_ERROR(file_->Write(text.substr(0, bytes)));
    text.remove_prefix(bytes);
    lines -= fit;
    lines_ += fit;
  }
  return absl::OkStatus();
}

Status PartFileWriter::Finish() {
  if (file_ == nullptr) return absl::OkStatus();
  const Status status = file_->Finish();
  file_.reset();
  return status;
}

}  // namespace flotilla
