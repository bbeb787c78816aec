// Writes tensors into one safetensors file, with the layout of checkpoint/safetensors.h.
#include <map>
#include <utility>

#include "flotilla/base/output_file.h"
#include "flotilla/checkpoint/block_file.h"
#include "flotilla/checkpoint/safetensors.h"
#include "flotilla/infer/tensor_sink.h"

namespace flotilla {
namespace {

class SafetensorsSink : public TensorSink {
 public:
  SafetensorsSink(std::string path, std::map<std::string, int64_t, std::less<>> offsets,
                  OutputFile file)
      : path_(std::move(path)), offsets_(std::move(offsets)), file_(std::move(file)) {}

  Status WriteParameter(const SavedParameter& parameter, std::span<const float> weights) override {
    return Append(parameter.name, BytesOf(weights));
  }

  Status BeginTable(const SavedTable& table) override {
    table_ = table.name;
    return absl::OkStatus();
  }
  Status WriteRows(std::span<const uint64_t> ids, std::span<const float> weights) override {
    FL_RETURN_IF_ERROR(Append(table_ + ".ids", BytesOf(ids)));
    return Append(table_ + ".weights", BytesOf(weights));
  }
  Status EndTable() override { return absl::OkStatus(); }

  Status Finish() override { return file_.Finish(); }

  std::vector<std::string> FilesOf(const std::string&, bool) const override { return {path_}; }

 private:
  Status Append(const std::string& tensor, std::string_view bytes) {
    int64_t& offset = offsets_.at(tensor);
    const int64_t begin = std::exchange(offset, offset + static_cast<int64_t>(bytes.size()));
    return file_.WriteAt(begin, bytes);
  }

  const std::string path_;
  std::map<std::string, int64_t, std::less<>> offsets_;  // offset of each tensor's next byte
  OutputFile file_;
  std::string table_;  // name of the current table
};

}  // namespace

StatusOr<std::unique_ptr<TensorSink>> MakeSafetensorsSink(const ExportPlan& plan,
                                                          const std::string& path) {
  SafetensorsHeader header;
  for (const SavedParameter* parameter : plan.parameters) {
    header.tensors.push_back({.name = parameter->name, .dtype = "F32", .shape = parameter->shape});
  }
  for (const SavedTable* table : plan.tables) {
    const int64_t rows = table->rows();
    header.tensors.push_back({.name = table->name + ".ids", .dtype = "U64", .shape = {rows}});
    header.tensors.push_back(
        {.name = table->name + ".weights", .dtype = "F32", .shape = {rows, table->dim}});
  }
  FL_ASSIGN_OR_RETURN(const std::string head, header.Lay({}));
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  FL_RETURN_IF_ERROR(file.Write(head));
  std::map<std::string, int64_t, std::less<>> offsets;
  for (const TensorEntry& tensor : header.tensors) offsets[tensor.name] = tensor.offset;
  return std::unique_ptr<TensorSink>(
      new SafetensorsSink(path, std::move(offsets), std::move(file)));
}

}  // namespace flotilla
