#include "flotilla/infer/replaced_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace flotilla {

namespace {

std::string PartOf(const std::string& path) { return path + ".part"; }

}  // namespace

StatusOr<std::unique_ptr<ReplacedFile>> ReplacedFile::Make(const std::string& path, int64_t bytes) {
  std::error_code ignored;
  std::filesystem::remove(PartOf(path), ignored);  // leftover of a killed export
  FL_ASSIGN_OR_RETURN(std::unique_ptr<BlockFileWriter> file,
                      BlockFileWriter::Make(PartOf(path), path, bytes));
  return std::unique_ptr<ReplacedFile>(new ReplacedFile(path, std::move(file)));
}

ReplacedFile::ReplacedFile(std::string path, std::unique_ptr<BlockFileWriter> file)
    : path_(std::move(path)), file_(std::move(file)) {}

ReplacedFile::~ReplacedFile() {
  if (finished_) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(PartOf(path_), ignored);
}

Status ReplacedFile::Finish() {
  FL_RETURN_IF_ERROR(file_->Finish(/*sync=*/false).status());
  std::error_code error;
  std::filesystem::rename(PartOf(path_), path_, error);
  if (error) return InvalidArgument("{}: cannot be replaced: {}", path_, error.message());
  finished_ = true;
  return absl::OkStatus();
}

}  // namespace flotilla
