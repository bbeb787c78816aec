// Writes tensors as .npy files, like numpy.save (format version 1.0): a magic number, a header that
// is a Python literal, padded to a multiple of 64 bytes, and the raw little-endian data.
#include <optional>
#include <utility>

#include "flotilla/base/output_file.h"
#include "flotilla/checkpoint/block_file.h"
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

StatusOr<OutputFile> OpenArray(const std::string& path, std::string_view dtype,
                               std::span<const int64_t> shape) {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  FL_RETURN_IF_ERROR(file.Write(HeaderOf(dtype, shape)));
  return file;
}

class NpySink : public TensorSink {
 public:
  explicit NpySink(std::string directory) : directory_(std::move(directory)) {}

  Status WriteParameter(const SavedParameter& parameter, std::span<const float> weights) override {
    FL_ASSIGN_OR_RETURN(OutputFile file,
                        OpenArray(PathOf(parameter.name, ""), "<f4", parameter.shape));
    FL_RETURN_IF_ERROR(file.Write(BytesOf(weights)));
    return file.Finish();
  }

  Status BeginTable(const SavedTable& table) override {
    const int64_t shape[] = {table.rows(), table.dim};
    FL_ASSIGN_OR_RETURN(OutputFile ids,
                        OpenArray(PathOf(table.name, ".ids"), "<u8", std::span(shape).first(1)));
    FL_ASSIGN_OR_RETURN(OutputFile weights,
                        OpenArray(PathOf(table.name, ".weights"), "<f4", shape));
    ids_.emplace(std::move(ids));
    weights_.emplace(std::move(weights));
    return absl::OkStatus();
  }
  Status WriteRows(std::span<const uint64_t> ids, std::span<const float> weights) override {
    FL_RETURN_IF_ERROR(ids_->Write(BytesOf(ids)));
    return weights_->Write(BytesOf(weights));
  }
  Status EndTable() override {
    FL_RETURN_IF_ERROR(ids_->Finish());
    return weights_->Finish();
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
  std::optional<OutputFile> ids_, weights_;  // of the current table
};

}  // namespace

std::unique_ptr<TensorSink> MakeNpySink(const std::string& directory) {
  return std::make_unique<NpySink>(directory);
}

}  // namespace flotilla
