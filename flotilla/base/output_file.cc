#include "flotilla/base/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace flotilla {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

StatusOr<OutputFile> OutputFile::Create(std::string path) {
  std::FILE* file = std::fopen((path + ".tmp").c_str(), "wbe");
  if (file == nullptr) return FailedPrecondition("{}: cannot be made: {}", path, strerror(errno));
  std::setvbuf(file, nullptr, _IOFBF, kBufferBytes);
  return OutputFile(std::move(path), file);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, nullptr)) {}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  unlink(temporary().c_str());
}

Status OutputFile::Failed(std::string_view what) const {
  return FailedPrecondition("{}: cannot be {}: {}", path_, what, strerror(errno));
}

Status OutputFile::Write(std::string_view bytes) {
  FL_CHECK(file_ != nullptr);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return Failed("written");
  return absl::OkStatus();
}

Status OutputFile::Finish() {
  FL_CHECK(file_ != nullptr);
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) return Failed("written");
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!closed || std::rename(temporary().c_str(), path_.c_str()) != 0) {
    const Status failed = Failed("written");
    unlink(temporary().c_str());
    return failed;
  }
  return absl::OkStatus();
}

Status WriteFile(std::string path, std::string_view content) {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(std::move(path)));
  FL_RETURN_IF_ERROR(file.Write(content));
  return file.Finish();
}

}  // namespace flotilla
