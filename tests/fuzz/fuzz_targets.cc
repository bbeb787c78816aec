#include "tests/fuzz/fuzz_targets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "flotilla/base/hash.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/checkpoint/safetensors.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/csv_parser.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

constexpr int64_t kBatchRows = 8;

InputSpec Dense(std::string name, int64_t width) { return {name, InputKind::kDense, width}; }
InputSpec Ids(std::string name) { return {name, InputKind::kIds, 1}; }
InputSpec Label(std::string name) { return {name, InputKind::kLabel, 1}; }

std::unique_ptr<Parser> Make(const ParserSpec& spec, const std::vector<InputSpec>& inputs) {
  StatusOr<std::unique_ptr<Parser>> parser = MakeParser(spec, inputs);
  FL_CHECK(parser.ok());
  return *std::move(parser);
}

std::unique_ptr<Parser> MakeWithSchema(const std::string& words) {
  const Schema schema = *Schema::FromText(words);
  return Make({"csv", {{"schema", words}}}, schema.Inputs());
}

void CheckBatch(const Parser& parser, const Batch& batch) {
  FL_CHECK(batch.Check(parser.inputs()).ok());
  for (const Field& field : batch.fields) {
    FL_CHECK(std::is_sorted(field.ids.offsets.begin(), field.ids.offsets.end()));
    for (const float value : field.values) FL_CHECK(std::isfinite(value));
  }
}

void CheckSame(const Batch& a, const Batch& b) {
  FL_CHECK(a.rows == b.rows);
  for (size_t f = 0; f < a.fields.size(); ++f) {
    FL_CHECK(a.fields[f].values == b.fields[f].values);
    FL_CHECK(a.fields[f].ids.ids == b.fields[f].ids.ids);
    FL_CHECK(a.fields[f].ids.offsets == b.fields[f].ids.offsets);
  }
}

// The error is "<column>: ..", on one line, and the column is in the line or just behind it.
void CheckBadRow(const Status& status, std::string_view line) {
  FL_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  const std::string message(Message(status));
  char* stop = nullptr;
  const unsigned long long column = std::strtoull(message.c_str(), &stop, 10);
  FL_CHECK(stop != message.c_str() && *stop == ':');
  FL_CHECK(column >= 1 && column <= line.size() + 1);
  FL_CHECK(message.find('\n') == std::string::npos);
}

void ParseLine(const Parser& parser, std::string_view line, Batch* batch) {
  // A copy of exact size, so that the sanitizers see a read behind its end.
  const std::vector<char> exact(line.begin(), line.end());
  const std::string_view text(exact.data(), exact.size());
  const Batch before = *batch;
  const Status status = parser.Parse(text, batch);
  if (status.ok()) {
    FL_CHECK(batch->rows == before.rows || batch->rows == before.rows + 1);
    if (batch->rows == before.rows) CheckSame(*batch, before);
    CheckBatch(parser, *batch);
  } else {
    CheckBadRow(status, text);
    CheckSame(*batch, before);
  }
}

void ParseLines(const Parser& parser, std::string_view data) {
  Batch batch;
  batch.fields.resize(parser.inputs().size());
  while (!data.empty()) {
    const std::string_view line = data.substr(0, data.find('\n'));
    data.remove_prefix(std::min(line.size() + 1, data.size()));
    if (parser.header_lines() > 0) {
      const Status header = parser.CheckHeader(line);
      if (!header.ok()) CheckBadRow(header, line);
    }
    ParseLine(parser, line, &batch);
    if (batch.rows == kBatchRows) batch.Clear();
  }
}

void ParseWithAll(std::span<const std::unique_ptr<Parser>> parsers, std::string_view data) {
  for (const std::unique_ptr<Parser>& parser : parsers) ParseLines(*parser, data);
}

void RunCorpus(std::string_view data) {
  static const std::unique_ptr<Parser> parsers[] = {
      Make({"corpus"}, {Ids("words")}), Make({"corpus", {{"vocabulary", "100"}}}, {Ids("words")})};
  ParseWithAll(parsers, data);
}

void RunCriteo(std::string_view data) {
  static const std::unique_ptr<Parser> parsers[] = {
      Make({"criteo"}, CriteoInputs()),
      Make({"criteo", {{"numeric", "log"}, {"hash_dim", "7"}}}, CriteoInputs())};
  ParseWithAll(parsers, data);
}

void RunCsv(std::string_view data) {
  static const std::unique_ptr<Parser> parsers[] = {
      MakeWithSchema("header=yes age:dense city:id tags:bag click:label"),
      MakeWithSchema("trim=yes missing=?,NA a:dense(input=x,log) b:dense(input=x,diff=1e-30) "
                     "c:id(number) d:bag(number,separator=semicolon) y:label(no|No,yes|Yes)"),
      MakeWithSchema("delimiter=tab quotes=no trim=yes a:id(input=x) b:bag(input=x) -*"),
      MakeWithSchema("delimiter=space - a:id -*"),
      MakeWithSchema("a:number+bucket(borders=0|9) b:category(hash) c:list(weighted,hash) "
                     "d:sequence(hash,length=2) e:time w:weight g:group k:keep "
                     "y:label(task=regression) x:cross(a,b,e.hour,hash)"),
  };
  ParseWithAll(parsers, data);
}

void RunSchema(std::string_view data) {
  const StatusOr<Schema> schema = Schema::FromText(data);
  if (!schema.ok()) return;
  FL_CHECK(schema->Validate().ok());
  const std::vector<InputSpec> inputs = schema->Inputs();
  const StatusOr<Schema> again = Schema::FromText(schema->ToJson());
  FL_CHECK(again.ok() && *again == *schema);
  const auto parser = CsvParser::Make(inputs, *schema);
  FL_CHECK(parser.ok() || schema->NeedsStatistics());
  if (!parser.ok()) return;
  ParseLines(**parser, "1,2,3\nx\n\n0\t1\t2\t\"3\"\n,,,,,,,,,\n1 2 3 4");
}

void RunLibffm(std::string_view data) {
  static const std::unique_ptr<Parser> parsers[] = {
      Make({"libffm"}, {Label("label"), Ids("F0"), Dense("F1", 1), Ids("F2")}),
      Make({"libffm", {{"labels", "whole"}, {"single", "yes"}, {"fields", "a,-,b"}}},
           {Ids("b"), Label("label"), Ids("a")})};
  ParseWithAll(parsers, data);
}

void RunLibsvm(std::string_view data) {
  static const std::unique_ptr<Parser> parsers[] = {
      Make({"libsvm"}, {Label("label"), Ids("features")}),
      Make({"libsvm", {{"labels", "whole"}}}, {Dense("x", 20), Label("label")}),
      Make({"libsvm", {{"first_index", "0"}}}, {Dense("x", 5), Label("label"), Ids("features")})};
  ParseWithAll(parsers, data);
}

// What a manifest says, it says again.
void CheckManifestText(std::string_view text) {
  const StatusOr<Manifest> manifest = Manifest::FromText(text);
  if (!manifest.ok()) return;
  const StatusOr<std::string> again = manifest->ToText();
  FL_CHECK(again.ok());
  FL_CHECK(*Manifest::FromText(*again) == *manifest);
}

// As it is, and as the body of a manifest with the right checksum, which no fuzzer would find.
void RunManifest(std::string_view data) {
  CheckManifestText(data);
  const std::string_view body = data.substr(data.find('\n') + 1);
  CheckManifestText(
      fmt::format("{{\"format\":\"flotilla model\",\"version\":1,\"checksum\":\"{:016x}\",\n{}",
                  HashBytes(body), body));
  const StatusOr<CheckpointPart> part = CheckpointPart::FromText(data);
  if (part.ok()) FL_CHECK(*CheckpointPart::FromText(*part->ToText()) == *part);
}

// Tensors of a header that was accepted fill the file, and can be written again.
void CheckSafetensors(std::string_view head, int64_t file_bytes) {
  StatusOr<SafetensorsHeader> header = ParseSafetensors(head, file_bytes);
  if (!header.ok()) return;
  int64_t end = static_cast<int64_t>(head.size());
  for (const TensorEntry& tensor : header->tensors) {
    FL_CHECK(tensor.offset == end && tensor.bytes >= 0);
    end += tensor.bytes;
  }
  FL_CHECK(end == file_bytes);
  const StatusOr<std::string> again = header->Lay({});
  FL_CHECK(again.ok() && header->file_bytes - static_cast<int64_t>(again->size()) ==
                             file_bytes - static_cast<int64_t>(head.size()));
}

// The header alone, before data of the sizes that the seeds have.
void RunSafetensors(std::string_view data) {
  CheckSafetensors(data, static_cast<int64_t>(data.size()));
  const uint64_t length = data.size();
  const std::string head =
      std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + std::string(data);
  for (const int64_t bytes : {0, 8, 48, 96}) {
    CheckSafetensors(head, static_cast<int64_t>(head.size()) + bytes);
  }
}

void RunMultislot(std::string_view data) {
  const static std::vector<InputSpec> inputs = {Dense("x", 3), Ids("words"), Ids("user"),
                                                Label("label")};
  static const std::unique_ptr<Parser> parsers[] = {
      Make({"multislot"}, inputs), Make({"multislot", {{"single", "user"}}}, inputs),
      Make({"multislot", {{"single", "all"}}}, {Ids("user"), Label("label")})};
  ParseWithAll(parsers, data);
}

// Every number that a line holds at its start must be the one that the C library reads there.
void RunNumbers(std::string_view data) {
  while (!data.empty()) {
    const std::string_view line = data.substr(0, data.find('\n'));
    data.remove_prefix(std::min(line.size() + 1, data.size()));
    const std::vector<char> exact(line.begin(), line.end());
    double value = 0;
    const char* const stop = ScanDouble(exact.data(), exact.data() + exact.size(), &value);
    if (stop == nullptr) continue;
    const std::string text(exact.data(), stop);
    char* read = nullptr;
    FL_CHECK(std::strtod(text.c_str(), &read) == value && std::isfinite(value));
    FL_CHECK(*read == '\0');
  }
}

}  // namespace

std::span<const FuzzTarget> FuzzTargets() {
  static const std::array<FuzzTarget, 10> targets = {{{"corpus", RunCorpus},
                                                      {"criteo", RunCriteo},
                                                      {"csv", RunCsv},
                                                      {"csv_schema", RunSchema},
                                                      {"libffm", RunLibffm},
                                                      {"libsvm", RunLibsvm},
                                                      {"manifest", RunManifest},
                                                      {"multislot", RunMultislot},
                                                      {"numbers", RunNumbers},
                                                      {"safetensors", RunSafetensors}}};
  return targets;
}

}  // namespace flotilla
