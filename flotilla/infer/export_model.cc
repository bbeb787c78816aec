#include "flotilla/infer/export_model.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "flotilla/base/nearest_name.h"
#include "flotilla/infer/tensor_sink.h"
#include "flotilla/tensor/shape.h"

namespace flotilla {
namespace {

std::vector<std::string> NamesOf(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const SavedParameter& parameter : manifest.parameters) names.push_back(parameter.name);
  for (const SavedTable& table : manifest.tables) names.push_back(table.name);
  return names;
}

// The tensors to export, in the order of the model.
StatusOr<ExportPlan> Choose(const Manifest& manifest, const ExportOptions& options) {
  const std::vector<std::string> known = NamesOf(manifest);
  for (const std::string& name : options.names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return NotFound("no parameter or table is named {}{}", name, DidYouMean(name, known));
  }
  const auto wanted = [&](const std::string& name) {
    return options.names.empty() ||
           std::find(options.names.begin(), options.names.end(), name) != options.names.end();
  };
  ExportPlan plan;
  for (const SavedParameter& parameter : manifest.parameters) {
    if (wanted(parameter.name)) plan.parameters.push_back(&parameter);
  }
  for (const SavedTable& table : manifest.tables) {
    if (wanted(table.name)) plan.tables.push_back(&table);
  }
  return plan;
}

StatusOr<std::unique_ptr<TensorSink>> MakeSink(const ExportPlan& plan,
                                               const ExportOptions& options) {
  if (options.format == ExportFormat::kSafetensors) return MakeSafetensorsSink(plan, options.out);
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) return InvalidArgument("{}: cannot be created: {}", options.out, error.message());
  FL_RETURN_IF_ERROR(CheckFileNames(plan));
  return options.format == ExportFormat::kNpy ? MakeNpySink(options.out)
                                              : MakeTextSink(options.out);
}

Status WriteParameter(const CheckpointReader& reader, const SavedParameter& parameter,
                      TensorSink* sink) {
  std::vector<float> weights(static_cast<size_t>(Shape{parameter.shape}.row_size()));
  FL_RETURN_IF_ERROR(reader.ReadParameter(parameter, weights, {}));
  return sink->WriteParameter(parameter, weights);
}

Status WriteTable(const CheckpointReader& reader, const SavedTable& table, TensorSink* sink) {
  FL_RETURN_IF_ERROR(sink->BeginTable(table));
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    FL_RETURN_IF_ERROR(reader.ReadRows(
        table, shard, CheckpointReader::Columns::kWeights,
        [&](const TableRows& rows) { return sink->WriteRows(rows.ids, rows.weights); }));
  }
  return sink->EndTable();
}

}  // namespace

StatusOr<std::vector<ExportedTensor>> ExportModel(const CheckpointReader& reader,
                                                  const ExportOptions& options) {
  FL_ASSIGN_OR_RETURN(const ExportPlan plan, Choose(reader.manifest(), options));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<TensorSink> sink, MakeSink(plan, options));
  std::vector<ExportedTensor> exported;
  for (const SavedParameter* parameter : plan.parameters) {
    FL_RETURN_IF_ERROR(WriteParameter(reader, *parameter, sink.get()));
    exported.push_back({parameter->name, parameter->shape, sink->FilesOf(parameter->name, false)});
  }
  for (const SavedTable* table : plan.tables) {
    FL_RETURN_IF_ERROR(WriteTable(reader, *table, sink.get()));
    exported.push_back(
        {table->name, {table->rows(), table->dim}, sink->FilesOf(table->name, true)});
  }
  FL_RETURN_IF_ERROR(sink->Finish());
  return exported;
}

}  // namespace flotilla
