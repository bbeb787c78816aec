// Writes tensors as text: one number per line, row-major; for a table one line `id w1 .. wd` per
// row. Numbers have as many digits as needed to read back the same float.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "flotilla/base/output_file.h"
#include "flotilla/infer/tensor_sink.h"

namespace flotilla {
namespace {

class TextSink : public TensorSink {
 public:
  explicit TextSink(std::string directory) : directory_(std::move(directory)) {}

  Status WriteParameter(const SavedParameter& parameter, std::span<const float> weights) override {
    FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(PathOf(parameter.name)));
    constexpr size_t kLines = 65536;  // number of lines formatted at a time
    while (!weights.empty()) {
      fmt::memory_buffer text;
      const std::span<const float> some = weights.first(std::min(kLines, weights.size()));
      for (const float weight : some) fmt::format_to(std::back_inserter(text), "{}\n", weight);
      FL_RETURN_IF_ERROR(file.Write({text.data(), text.size()}));
      weights = weights.subspan(some.size());
    }
    return file.Finish();
  }

  Status BeginTable(const SavedTable& table) override {
    FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(PathOf(table.name)));
    table_ = std::make_unique<OutputFile>(std::move(file));
    return absl::OkStatus();
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
    return table_->Write({text.data(), text.size()});
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
  std::unique_ptr<OutputFile> table_;  // file of the current table
};

}  // namespace

std::unique_ptr<TensorSink> MakeTextSink(const std::string& directory) {
  return std::make_unique<TextSink>(directory);
}

}  // namespace flotilla
