// Tensors as text: one number a line, row-major; of a table `id w1 .. wd` a line. Numbers have as
// many digits as it takes to read back the same float.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "flotilla/infer/replaced_file.h"
#include "flotilla/infer/tensor_sink.h"

namespace flotilla {
namespace {

// A file of lines, whose size is not known before its end. Without Finish nothing is left behind.
class TextFile {
 public:
  ~TextFile() {
    if (!file_.is_open()) return;
    file_.close();
    std::error_code ignored;
    std::filesystem::remove(PartOf(path_), ignored);
  }

  Status Open(const std::string& path) {
    path_ = path;
    file_.open(PartOf(path), std::ios::binary | std::ios::trunc);
    return Check("cannot be made");
  }
  Status Append(const fmt::memory_buffer& text) {
    file_.write(text.data(), static_cast<std::streamsize>(text.size()));
    return Check("cannot be written");
  }
  Status Finish() {
    FL_RETURN_IF_ERROR((file_.flush(), Check("cannot be written")));
    file_.close();
    return RenamePart(path_);
  }

 private:
  Status Check(const char* what) const {
    if (file_) return absl::OkStatus();
    return ResourceExhausted("{}: {}: {}", path_, what, std::strerror(errno));
  }

  std::string path_;
  std::ofstream file_;
};

class TextSink : public TensorSink {
 public:
  explicit TextSink(std::string directory) : directory_(std::move(directory)) {}

  Status WriteParameter(const SavedParameter& parameter, std::span<const float> weights) override {
    TextFile file;
    FL_RETURN_IF_ERROR(file.Open(PathOf(parameter.name)));
    constexpr size_t kLines = 65536;  // turned into text at a time
    while (!weights.empty()) {
      fmt::memory_buffer text;
      const std::span<const float> some = weights.first(std::min(kLines, weights.size()));
      for (const float weight : some) fmt::format_to(std::back_inserter(text), "{}\n", weight);
      FL_RETURN_IF_ERROR(file.Append(text));
      weights = weights.subspan(some.size());
    }
    return file.Finish();
  }

  Status BeginTable(const SavedTable& table) override {
    table_ = std::make_unique<TextFile>();
    return table_->Open(PathOf(table.name));
  }
  Status WriteRows(std::span<const uint64_t> ids, std::span<const float> weights) override {
    fmt::memory_buffer text;
    for (size_t i = 0; i < ids.size(); ++i) {
      const size_t dim = weights.size() / ids.size();
      fmt::format_to(std::back_inserter(text), "{}", ids[i]);
      for (const float weight : weights.subspan(i * dim, dim)) {
        fmt::format_to(std::back_inserter(text), " {}", weight);
      }
      text.push_back('\n');
    }
    return table_->Append(text);
  }
  Status EndTable() override {
    const Status status = table_->Finish();
    table_.reset();
    return status;
  }

  std::vector<std::string> FilesOf(const std::string& name, bool) const override {
    return {PathOf(name)};
  }

 private:
  std::string PathOf(const std::string& name) const {
    return fmt::format("{}/{}.txt", directory_, FileNameOf(name));
  }

  const std::string directory_;
  std::unique_ptr<TextFile> table_;  // under way
};

}  // namespace

std::unique_ptr<TensorSink> MakeTextSink(const std::string& directory) {
  return std::make_unique<TextSink>(directory);
}

}  // namespace flotilla
