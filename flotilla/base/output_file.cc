#include "flotilla/base/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
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

std::string TemporaryName(const std::string& path, bool shared) {
  static std::atomic<int64_t> count{0};
  return shared ? fmt::format("{}.tmp-{}-{}", path, getpid(), count++) : path + ".tmp";
}

}  // namespace

StatusOr<OutputFile> OutputFile::Create(std::string path, OutputFileOptions options) {
  const bool in_place = IsWrittenInPlace(path);
  if (std::error_code error; !in_place && fs::is_symlink(path, error)) {
    const fs::path target = fs::weakly_canonical(path, error);
    if (!error) path = target.string();
  }
  std::string temporary = in_place ? "" : TemporaryName(path, options.shared);
  // x: two hosts that share the directory may use the same process number.
  std::FILE* file = std::fopen((in_place ? path : temporary).c_str(),
                               !in_place && options.shared ? "wbex" : "wbe");
  if (file == nullptr)
    return FailedPrecondition("{}: cannot be written: {}", path, strerror(errno));
  std::setvbuf(file, nullptr, _IOFBF, kBufferBytes);
  return OutputFile(std::move(path), std::move(temporary), options.sync, file);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      sync_(other.sync_),
      file_(std::exchange(other.file_, nullptr)) {}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputFile::Failed(std::string_view what) const {
  return FailedPrecondition("{}: cannot be {}: {}", path_, what, strerror(errno));
}

Status OutputFile::Write(std::string_view bytes) {
  FL_CHECK(file_ != nullptr);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return Failed("written");
  return absl::OkStatus();
}

Status OutputFile::WriteAt(int64_t offset, std::string_view bytes) {
  FL_CHECK(file_ != nullptr);
  if (fseeko(file_, offset, SEEK_SET) != 0) return Failed("written");
  return Write(bytes);
}

Status OutputFile::Finish() {
  FL_CHECK(file_ != nullptr);
  if (std::fflush(file_) != 0) return Failed("written");
  const bool replaces = !temporary_.empty();
  if (replaces && sync_ && fsync(fileno(file_)) != 0) return Failed("written");
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (closed && (!replaces || std::rename(temporary_.c_str(), path_.c_str()) == 0)) {
    return absl::OkStatus();
  }
  const Status failed = Failed("written");
  if (replaces) unlink(temporary_.c_str());
  return failed;
}

Status WriteFile(std::string path, std::string_view content) {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(std::move(path)));
  FL_RETURN_IF_ERROR(file.Write(content));
  return file.Finish();
}

}  // namespace flotilla
