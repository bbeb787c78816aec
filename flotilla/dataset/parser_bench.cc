// Measures how many bytes of text per second each parser converts into batches on one core,
// compared with finding the line ends alone. The text is synthetic, stays in memory and is parsed
// in batches of 1000 rows.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/prepare/synth_criteo.h"
#include "flotilla/schema/schema.h"

namespace flotilla {
namespace {

constexpr int kRows = 20000;
constexpr int64_t kBatchRows = 1000;

std::string CriteoText() {
  std::string text;
  const StatusOr<SynthCriteo> synth = SynthCriteo::Make({.seed = 1});
  for (uint64_t i = 0; i < kRows; ++i) {
    synth->Row(i, &text);
    text += '\n';
  }
  return text;
}

// The same rows in the format of a data generator: numbers with `digits` digits, and hashed ids.
std::string MultislotText(int digits) {
  StatusOr<std::unique_ptr<Parser>> criteo = MakeParser({"criteo"}, CriteoInputs());
  const std::string raw = CriteoText();
  Batch batch;
  batch.fields.resize(CriteoInputs().size());
  std::string text;
  for (size_t begin = 0; begin < raw.size();) {
    const size_t end = raw.find('\n', begin);
    batch.Clear();
    if (!(*criteo)->Parse(std::string_view(raw).substr(begin, end - begin), &batch).ok()) return "";
    begin = end + 1;
    text += "13";
    for (const double value : batch.fields[0].values) {
      // Printed like a quotient of whole numbers: short if it is exact, long otherwise.
      text += digits == 0 ? fmt::format(" {}", value) : fmt::format(" {:.{}g}", value, digits);
    }
    for (int c = 1; c <= 26; ++c) text += fmt::format(" 1 {}", batch.fields[c].ids.ids[0]);
    text += fmt::format(" 1 {}\n", batch.fields[27].values[0]);
  }
  return text;
}

// Rows of a label and 14 features, as libsvm or as libffm writes them.
std::string FeatureText(bool with_fields) {
  const RngKey key = RngKey(2).With("features");
  std::string text;
  for (uint64_t row = 0; row < kRows; ++row) {
    text += row % 4 == 0 ? "1" : "-1";
    for (uint64_t f = 0; f < 14; ++f) {
      const uint64_t index = key.Below(row * 14 + f, 1000) * 14 + f;
      text += with_fields ? fmt::format(" {}:{}:1", f, index) : fmt::format(" {}:1", index);
    }
    text += '\n';
  }
  return text;
}

std::string CsvText() {
  std::string text = CriteoText();
  for (char& c : text) {
    if (c == '\t') c = ',';
  }
  return text;
}

std::string CsvWords() {
  std::string words = "label:label";
  for (int i = 1; i <= 13; ++i) words += fmt::format(" I{}:dense(input=dense_input,log)", i);
  for (int c = 1; c <= 26; ++c) words += fmt::format(" C{}:id", c);
  return words;
}

std::string CorpusText() {
  const RngKey key = RngKey(3).With("corpus");
  std::string text;
  uint64_t draw = 0;
  for (int row = 0; row < kRows; ++row) {
    for (uint64_t i = 1 + key.Below(draw++, 60); i > 0; --i) {
      text += fmt::format("{} ", key.Below(draw, 70000) >> draw % 12);
      ++draw;
    }
    text.back() = '\n';
  }
  return text;
}

void ParseAll(benchmark::State& state, const ParserSpec& spec, std::span<const InputSpec> inputs,
              const std::string& text) {
  const StatusOr<std::unique_ptr<Parser>> parser = MakeParser(spec, inputs);
  if (!parser.ok()) return state.SkipWithError(std::string(Message(parser.status())).c_str());
  Batch batch;
  batch.fields.resize(inputs.size());
  int64_t rows = 0;
  for (auto _ : state) {
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p < end;) {
      const char* const newline = static_cast<const char*>(std::memchr(p, '\n', end - p));
      const Status status = (*parser)->Parse(std::string_view(p, newline - p), &batch);
      if (!status.ok()) return state.SkipWithError(std::string(Message(status)).c_str());
      p = newline + 1;
      if (batch.rows == kBatchRows) batch.Clear();
      ++rows;
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.SetItemsProcessed(rows);
}

void BM_LineEndsOnly(benchmark::State& state) {
  const std::string text = CriteoText();
  for (auto _ : state) {
    int64_t lines = 0;
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p < end; ++lines) {
      p = static_cast<const char*>(std::memchr(p, '\n', end - p)) + 1;
    }
    benchmark::DoNotOptimize(lines);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(BM_LineEndsOnly);

void BM_Criteo(benchmark::State& state) {
  ParseAll(state, {"criteo"}, CriteoInputs(), CriteoText());
}
BENCHMARK(BM_Criteo);

// Numbers of 6 digits, then with as many digits as a double needs; ids declared single, then as
// bags.
void BM_Multislot(benchmark::State& state) {
  ParserSpec spec{"multislot"};
  if (state.range(1) == 1) spec.params["single"] = "all";
  ParseAll(state, spec, CriteoInputs(), MultislotText(static_cast<int>(state.range(0))));
}
BENCHMARK(BM_Multislot)->ArgNames({"digits", "single"})->Args({6, 1})->Args({6, 0})->Args({0, 1});

void BM_Libsvm(benchmark::State& state) {
  const std::vector<InputSpec> inputs = {{"label", InputKind::kLabel, 1},
                                         {"features", InputKind::kIds, 1}};
  ParseAll(state, {"libsvm"}, inputs, FeatureText(false));
}
BENCHMARK(BM_Libsvm);

void BM_Libffm(benchmark::State& state) {
  std::vector<InputSpec> inputs = {{"label", InputKind::kLabel, 1}};
  for (int f = 0; f < 14; ++f) inputs.push_back({fmt::format("F{}", f), InputKind::kIds, 1});
  ParseAll(state, {"libffm", {{"single", "yes"}}}, inputs, FeatureText(true));
}
BENCHMARK(BM_Libffm);

void BM_Csv(benchmark::State& state) {
  ParseAll(state, {"csv", {{"schema", CsvWords()}}}, Schema::FromText(CsvWords())->Inputs(),
           CsvText());
}
BENCHMARK(BM_Csv);

void BM_Corpus(benchmark::State& state) {
  const std::vector<InputSpec> inputs = {{"words", InputKind::kIds, 1}};
  ParseAll(state, {"corpus"}, inputs, CorpusText());
}
BENCHMARK(BM_Corpus);

}  // namespace
}  // namespace flotilla
