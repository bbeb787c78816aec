// Shared by the tests of checkpoints: a small model whose numbers are derived from names and ids,
// so that the data read can be verified without the data written.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"

namespace flotilla {

// The whole content of a model directory, for comparison.
struct ModelContent {
  CheckpointInfo info;
  std::map<std::string, std::vector<float>> dense;  // weights, then state
  std::map<std::string, std::vector<uint64_t>> ids;
  std::map<std::string, std::vector<float>> rows;  // weights, state and meta of each row

  bool operator==(const ModelContent&) const = default;
};

struct TestModel {
  // Included in every number, so that two models differ everywhere.
  int version = 1;
  int64_t wide_rows = 60;  // rows of the table "wide"
  int writers = 2;

  CheckpointInfo Info() const {
    CheckpointInfo info{
        .step = 100 + version, .seed = ~uint64_t{0}, .optimizer = {}, .sections = {}};
    info.optimizer.name = "adam";
    info.optimizer.params = {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}};
    info.optimizer.learning_rate.params = {{"rate", 0.1}};
    info.optimizer.clip = {.kind = ClipSpec::Kind::kGlobalNorm, .limit = 5};
    info.sections = {{"graph", "{\"format\": \"any\"}\n"}, {"position", "\xc3\xbc 1 2 3"}};
    return info;
  }

  float Weight(uint64_t id, int64_t d) const {
    return static_cast<float>(id % 1000) + static_cast<float>(d) / 8 + static_cast<float>(version);
  }
  float State(uint64_t id, int64_t d) const { return -Weight(id, d) - 1; }

  std::vector<float> Dense(int64_t size, float scale) const {
    std::vector<float> values(static_cast<size_t>(size));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = scale * static_cast<float>(i + static_cast<size_t>(version));
    }
    return values;
  }

  // The ids of the table in the shards, in the order of files.
  static std::vector<uint64_t> Ids(int64_t count, uint64_t step, ShardRange shards) {
    std::vector<uint64_t> ids;
    for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
      const uint64_t id = i * step - 1;  // includes the largest possible id
      if (shards.contains(VirtualShard(id))) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end(), [](uint64_t a, uint64_t b) {
      return std::pair(VirtualShard(a), a) < std::pair(VirtualShard(b), b);
    });
    return ids;
  }

  Status WriteTable(const SavedTable& table, int64_t count, uint64_t step, ShardRange shards,
                    PartWriter* writer) const {
    const std::vector<uint64_t> ids = Ids(count, step, shards);
    std::vector<int64_t> rows(static_cast<size_t>(shards.count));
    for (const uint64_t id : ids) ++rows[static_cast<size_t>(VirtualShard(id) - shards.first)];
    FL_ASSIGN_OR_RETURN(TableWriter * out, writer->BeginTable(table, shards, rows));
    std::vector<float> weights(static_cast<size_t>(table.dim));
    std::vector<float> state(weights.size() * static_cast<size_t>(table.states));
    for (const uint64_t id : ids) {
      for (size_t d = 0; d < weights.size(); ++d) weights[d] = Weight(id, static_cast<int64_t>(d));
      for (size_t d = 0; d < state.size(); ++d) state[d] = State(id, static_cast<int64_t>(d));
      out->Add(id, weights, state, static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id % 11));
    }
    return writer->FinishTable();
  }

  StatusOr<CheckpointPart> WritePart(const std::string& directory, int writer,
                                     WriterOptions options) const {
    PartWriter part(directory, fmt::format("part-{}", writer), options);
    const std::vector<float> w = Dense(6, 1), w_state = Dense(12, -1), b = Dense(3, 0.5);
    if (writer == 0) {
      FL_RETURN_IF_ERROR(part.WriteParameters(std::vector<ParameterValues>{
          {.name = "fc.w", .shape = {2, 3}, .weights = w, .state = w_state, .states = 2},
          {.name = "fc.b", .shape = {3}, .weights = b, .state = {}, .states = 0}}));
    }
    const int first = writer * kVirtualShards / writers;
    const ShardRange shards{first, (writer + 1) * kVirtualShards / writers - first};
    FL_RETURN_IF_ERROR(WriteTable({.name = "emb", .dim = 3, .states = 2, .meta = true, .parts = {}},
                                  300, 0x9e3779b97f4a7c15ull, shards, &part));
    FL_RETURN_IF_ERROR(
        WriteTable({.name = "wide/table", .dim = 50, .states = 0, .meta = false, .parts = {}},
                   wide_rows, 1, shards, &part));
    return part.part();
  }

  Status Save(const std::string& dir, WriterOptions options = {.sync = false}) const {
    FL_ASSIGN_OR_RETURN(const auto writer, CheckpointWriter::Begin(dir, options));
    std::vector<CheckpointPart> parts;
    for (int w = 0; w < writers; ++w) {
      FL_ASSIGN_OR_RETURN(CheckpointPart part, WritePart(writer->temporary(), w, options));
      parts.push_back(std::move(part));
    }
    return writer->Commit(Info(), parts);
  }

  // The expected content, computed without a reader.
  ModelContent Content() const {
    ModelContent content{.info = Info(), .dense = {}, .ids = {}, .rows = {}};
    content.dense["fc.w"] = Dense(6, 1);
    for (const float value : Dense(12, -1)) content.dense["fc.w"].push_back(value);
    content.dense["fc.b"] = Dense(3, 0.5);
    content.ids["emb"] = Ids(300, 0x9e3779b97f4a7c15ull, {});
    for (const uint64_t id : content.ids["emb"]) {
      std::vector<float>& rows = content.rows["emb"];
      for (int d = 0; d < 3; ++d) rows.push_back(Weight(id, d));
      for (int d = 0; d < 6; ++d) rows.push_back(State(id, d));
      rows.push_back(static_cast<float>(id % 7));
      rows.push_back(static_cast<float>(id % 11));
    }
    content.ids["wide/table"] = Ids(wide_rows, 1, {});
    for (const uint64_t id : content.ids["wide/table"]) {
      for (int d = 0; d < 50; ++d) content.rows["wide/table"].push_back(Weight(id, d));
    }
    return content;
  }
};

// Reads everything of the shards.
inline StatusOr<ModelContent> ReadModel(const std::string& dir, const ReaderOptions& options = {}) {
  FL_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(dir, options));
  ModelContent content{.info = reader->manifest().info, .dense = {}, .ids = {}, .rows = {}};
  for (const SavedParameter& parameter : reader->manifest().parameters) {
    size_t size = 1;
    for (const int64_t dim : parameter.shape) size *= static_cast<size_t>(dim);
    std::vector<float> weights(size), state(size * static_cast<size_t>(parameter.states));
    FL_RETURN_IF_ERROR(reader->ReadParameter(parameter, weights, state));
    weights.insert(weights.end(), state.begin(), state.end());
    content.dense[parameter.name] = weights;
  }
  for (const SavedTable& table : reader->manifest().tables) {
    const auto dim = static_cast<size_t>(table.dim);
    const auto states = dim * static_cast<size_t>(table.states);
    for (int shard = options.shards.first; shard < options.shards.end(); ++shard) {
      FL_RETURN_IF_ERROR(reader->ReadRows(
          table, shard, CheckpointReader::Columns::kAll, [&](const TableRows& rows) {
            for (size_t i = 0; i < rows.ids.size(); ++i) {
              content.ids[table.name].push_back(rows.ids[i]);
              std::vector<float>& out = content.rows[table.name];
              out.insert(out.end(), &rows.weights[i * dim], &rows.weights[i * dim] + dim);
              if (states > 0) {
                out.insert(out.end(), &rows.state[i * states], &rows.state[i * states] + states);
              }
              if (!table.meta) continue;
              out.push_back(static_cast<float>(rows.meta[2 * i]));
              out.push_back(static_cast<float>(rows.meta[2 * i + 1]));
            }
            return absl::OkStatus();
          }));
    }
  }
  return content;
}

}  // namespace flotilla
