// Word vectors: training, dictionaries and files of vectors.
#include <pybind11/stl.h>

#include "flotilla/corpus/count_words.h"
#include "flotilla/infer/load_word_model.h"
#include "flotilla/python/arrays.h"
#include "flotilla/python/listener.h"
#include "flotilla/run/word2vec_task.h"

namespace flotilla::python {
namespace {

// Words are bytes on both sides: Python decides how they are text.
using Words = std::vector<std::pair<py::bytes, uint64_t>>;
// Changed in place, so never converted.
using Floats = py::array_t<float, py::array::c_style>;
using Ids = py::array_t<uint32_t, py::array::c_style>;

std::vector<WordCount> CountsOf(const Words& words) {
  std::vector<WordCount> counts;
  counts.reserve(words.size());
  for (const auto& [word, count] : words) counts.push_back({std::string(word), count});
  return counts;
}

Words WordsOf(const std::vector<WordCount>& counts) {
  Words words;
  words.reserve(counts.size());
  for (const WordCount& word : counts) words.emplace_back(py::bytes(word.word), word.count);
  return words;
}

std::span<float> SpanOf(Floats& array) {
  return {array.mutable_data(), static_cast<size_t>(array.size())};
}

py::dict TrainWords(const Word2VecRunOptions& options, const Words& words,
                    const std::optional<Ids>& ids, int64_t batch_words, Floats input, Floats output,
                    int64_t earlier_epochs, const py::object& listener) {
  Word2VecHost host{.words = CountsOf(words),
                    .batch_words = batch_words,
                    .input = SpanOf(input),
                    .output = SpanOf(output),
                    .earlier_epochs = earlier_epochs};
  if (ids) host.ids = {ids->data(), static_cast<size_t>(ids->size())};
  Word2VecTask task(&options, &host);
  const RunResult result = ListenedRun(listener).Run([&](Terminal& terminal, const RunHost& run) {
    return RunTraining(options, task, terminal, run);
  });
  py::dict dict;
  dict["words"] = result.examples;
  dict["trained"] = result.trained;
  dict["seconds"] = result.summary.train_seconds;
  return dict;
}

py::tuple CountFiles(const std::vector<std::string>& files, int threads) {
  CorpusCounts counts;
  RunInterruptibly([&](StopRequest& stop) -> Status {
    CountWordsOptions options{.tokenizer = TokenizerKind::kWhitespace, .threads = threads};
    options.blocks.source.interrupt = stop.interrupt();
    FL_ASSIGN_OR_RETURN(counts, CountWords(files, options));
    return absl::OkStatus();
  });
  return py::make_tuple(WordsOf(counts.words), counts.lines);
}

// The words and the vectors of a file, or of a table of a model directory.
py::tuple ReadVectors(const std::string& path, const std::string& table, bool header,
                      int64_t limit) {
  StatusOr<WordVectors> vectors = absl::UnknownError("");
  {
    const py::gil_scoped_release release;
    vectors = IsModelDir(path) ? LoadModelVectors(path, table)
                               : LoadVectors(path, {.header = header, .limit = limit});
  }
  const WordVectors read = Check(std::move(vectors));
  return py::make_tuple(
      WordsOf(read.vocabulary.words()),
      ArrayOf(read.values, {static_cast<py::ssize_t>(read.vocabulary.size()), read.dim}));
}

// `values` are (words, dim).
void WriteVectors(const std::string& path, const Words& words, const Floats& values, bool binary) {
  if (values.ndim() != 2 || static_cast<size_t>(values.shape(0)) != words.size()) {
    Check(
        InvalidArgument("{} words need a vector each, not an array of {} numbers in {} dimensions",
                        words.size(), values.size(), values.ndim()));
  }
  const int64_t dim = values.shape(1);
  std::vector<WordCount> counts = CountsOf(words);
  const std::span<const float> given(values.data(), static_cast<size_t>(values.size()));
  const py::gil_scoped_release release;
  WordVectors vectors{.vocabulary = Check(Vocabulary::FromWords(std::move(counts))), .dim = dim};
  vectors.values.assign(given.begin(), given.end());
  Check(SaveVectors(vectors, binary ? VectorFormat::kBinary : VectorFormat::kText, path));
}

Floats InitialVectors(uint64_t seed, int64_t dim, double start_range, int64_t first,
                      int64_t words) {
  Floats rows({static_cast<py::ssize_t>(words - first), static_cast<py::ssize_t>(dim)});
  const std::span<float> values = SpanOf(rows);
  const py::gil_scoped_release release;
  Check(InitialWordVectors(seed, dim, start_range, first, values));
  return rows;
}

// Reads or sets a member of a member.
template <typename Part, typename Value>
void Nested(py::class_<Word2VecRunOptions>& options, const char* name,
            Part Word2VecRunOptions::*part, Value Part::*value) {
  options.def_property(
      name, [=](const Word2VecRunOptions& o) { return o.*part.*value; },
      [=](Word2VecRunOptions& o, Value v) { o.*part.*value = v; });
}

void BindWordOptions(py::module_& m) {
  using Options = Word2VecRunOptions;
  py::class_<Options> options(m, "Word2VecOptions", "The options of a run on text.");
  options
      .def(py::init([] {
        Options made;
        made.model_name = "word2vec";
        made.tokenizer = TokenizerKind::kWhitespace;
        made.drop_unknown = true;
        return made;
      }))
      .def_readwrite("epochs", &Options::epochs)
      .def_readwrite("threads", &Options::threads)
      .def_readwrite("seed", &Options::seed)
      .def_readwrite("files", &Options::files)
      .def_readwrite("dim", &Options::dim)
      .def_readwrite("learning_rate", &Options::learning_rate)
      .def_readwrite("last_learning_rate", &Options::last_learning_rate)
      .def_readwrite("epoch_part", &Options::epoch_part)
      .def_property(
          "deterministic", [](const Options& o) { return o.deterministic; },
          [](Options& o, bool value) { o.deterministic = o.fleet.job.mode.local.joined = value; })
      .def("set_skipgram", [](Options& o) { o.cbow.reset(); })
      .def(
          "set_cbow",
          [](Options& o, bool mean) {
            o.cbow = mean ? kernels::CbowRule::kMean : kernels::CbowRule::kSum;
          },
          py::arg("mean"));
  Nested(options, "window", &Options::windows, &WindowOptions::window);
  Nested(options, "fixed_window", &Options::windows, &WindowOptions::fixed);
  Nested(options, "negatives", &Options::windows, &WindowOptions::negatives);
  Nested(options, "sample", &Options::windows, &WindowOptions::sample);
  Nested(options, "power", &Options::windows, &WindowOptions::power);
}

}  // namespace

void BindWords(py::module_& m) {
  BindWordOptions(m);
  m.def("train_word2vec", &TrainWords, py::arg("options"), py::arg("words"),
        py::arg("ids").noconvert(), py::arg("batch_words"), py::arg("input").noconvert(),
        py::arg("output").noconvert(), py::arg("earlier_epochs"), py::arg("listener"));
  m.def("count_words", &CountFiles, py::arg("files"), py::arg("threads"));
  m.def("read_word_vectors", &ReadVectors, py::arg("path"), py::arg("table"), py::arg("header"),
        py::arg("limit"));
  m.def("write_word_vectors", &WriteVectors, py::arg("path"), py::arg("words"),
        py::arg("values").noconvert(), py::arg("binary"));
  m.def("initial_word_vectors", &InitialVectors, py::arg("seed"), py::arg("dim"),
        py::arg("start_range"), py::arg("first"), py::arg("words"));
}

}  // namespace flotilla::python
