// Writes tensors as .npy files, like numpy.save (format version 1.0): a magic number, a header that
// is a Python literal, padded to a multiple of 64 bytes, and the raw little-endian data.
#include <utility>

#include "flotilla/infer/replaced_file.h"
#include "flotilla/infer/tensor_sink.h"

namespace flotilla {
namespace {

std::string HeaderOf(std::string_view dtype, std::span<const int64_t> shape) {
  std::string dims;
  for (const int64_t dim : shape) dims += fmt::format("{}, ", dim);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", dtype, dims);
  constexpr size_t kStart = 10;  // magic, version, length of the text
  text.append(63 - (kStart + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

// One array, written sequentially.
class NpyFile {
 public:
  Status Open(const std::string& path, std::string_view dtype, int64_t item_bytes,
              std::span<const int64_t> shape) {
    const std::string header = HeaderOf(dtype, shape);
    int64_t bytes = item_bytes;
    for (const int64_t dim : shape) bytes *= dim;
    FL_ASSIGN_OR_RETURN(file_,
                        ReplacedFile::Make(path, static_cast<int64_t>(header.size()) + bytes));
    offset_ = 0;
    return Append(header);
  }
  Status Append(std::string_view bytes) {
    if (bytes.empty()) return absl::OkStatus();
    FL_RETURN_IF_ERROR(file_->Write(offset_, bytes));
    offset_ += static_cast<int64_t>(bytes.size());
    return absl::OkStatus();
  }
  Status Finish() {
    const Status status = file_->Finish();
    file_.reset();
    return status;
  }

 private:
  std::unique_ptr<ReplacedFile> file_;
  int64_t offset_ = 0;
};

class NpySink : public TensorSink {
 public:
  explicit NpySink(std::string directory) : directory_(std::move(directory)) {}

  Status WriteParameter(const SavedParameter& parameter, std::span<const float> weights) override {
    NpyFile file;
    FL_RETURN_IF_ERROR(
        file.Open(PathOf(parameter.name, ""), "<f4", sizeof(float), parameter.shape));
    FL_RETURN_IF_ERROR(file.Append(BytesOf(weights)));
    return file.Finish();
  }

  Status BeginTable(const SavedTable& table) override {
    const int64_t shape[] = {table.rows(), table.dim};
    FL_RETURN_IF_ERROR(
        ids_.Open(PathOf(table.name, ".ids"), "<u8", sizeof(uint64_t), std::span(shape).first(1)));
    return weights_.Open(PathOf(table.name, ".weights"), "<f4", sizeof(float), shape);
  }
  Status WriteRows(std::span<const uint64_t> ids, std::span<const float> weights) override {
    FL_RETURN_IF_ERROR(ids_.Append(BytesOf(ids)));
    return weights_.Append(BytesOf(weights));
  }
  Status EndTable() override {
    FL_RETURN_IF_ERROR(ids_.Finish());
    return weights_.Finish();
  }

  std::vector<std::string> FilesOf(const std::string& name, bool is_table) const override {
    if (!is_table) return {PathOf(name, "")};
    return {PathOf(name, ".ids"), PathOf(name, ".weights")};
  }

 private:
  std::string PathOf(const std::string& name, const char* part) const {
    return fmt::format("{}/{}{}.npy", directory_, FileNameOf(name), part);
  }

  const std::string directory_;
  NpyFile ids_, weights_;  // of the current table
};

}  // namespace

std::unique_ptr<TensorSink> MakeNpySink(const std::string& directory) {
  return std::make_unique<NpySink>(directory);
}

}  // namespace flotilla
