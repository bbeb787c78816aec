#include "flotilla/base/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace flotilla {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 20;

// Whether the path refers to a file that is already open, as /dev/stdout and /dev/fd/3 do.
bool IsDescriptor(const fs::path& path) {
  std::error_code ignored;
  const auto in_proc = [](const fs::path& p) { return p.string().starts_with("/proc/"); };
  return in_proc(fs::read_symlink(path, ignored)) ||
         in_proc(fs::weakly_canonical(path.parent_path(), ignored));
}

bool IsWrittenInPlace(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return true;
  return IsDescriptor(path);
}

}  // namespace

StatusOr<OutputFile> OutputFile::Create(std::string path) {
  const bool in_place = IsWrittenInPlace(path);
  if (std::error_code error; !in_place && fs::is_symlink(path, error)) {
    const fs::path target = fs::weakly_canonical(path, error);
    if (!error) path = target.string();
  }
  std::FILE* file = std::fopen((in_place ? path : path + ".tmp").c_str(), "wbe");
  if (file == nullptr)
    return FailedPrecondition("{}: cannot be written: {}", path, strerror(errno));
  std::setvbuf(file, nullptr, _IOFBF, kBufferBytes);
  return OutputFile(std::move(path), in_place, file);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      in_place_(other.in_place_),
      file_(std::exchange(other.file_, nullptr)) {}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (!in_place_) unlink(temporary().c_str());
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
  if (std::fflush(file_) != 0) return Failed("written");
  if (in_place_) {
    if (std::fclose(std::exchange(file_, nullptr)) != 0) return Failed("written");
    return absl::OkStatus();
  }
  if (fsync(fileno(file_)) != 0) return Failed("written");
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
