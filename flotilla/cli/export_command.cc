#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/cli/commands.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/infer/export_model.h"
#include "flotilla/infer/find_model.h"
#include "flotilla/infer/load_word_model.h"
#include "flotilla/infer/word_vectors.h"
#include "flotilla/tensor/shape.h"

namespace flotilla {
namespace {

constexpr char kFormatsHelp[] = R"(Formats:
  npy          one file per tensor: NAME.npy; for a table NAME.ids.npy and NAME.weights.npy
  text         one file per tensor: NAME.txt, one number per line; for a table lines `id w1 .. wd`
  safetensors  one file; a table becomes the tensors NAME.ids and NAME.weights
  word2vec     one text file in the format of the word2vec C tool and gensim: a line `words dim`,
               then `word w1 .. wd` per line, of the table emb or the one given by --name
  word2vec_binary   the same with binary numbers

Example: flotilla export model --format npy --out tensors)";

struct ExportFlags {
  std::string model;
  std::string format;
  std::string dict;  // LoadModelVectors
  ExportOptions options;

  bool words() const { return format.starts_with("word2vec"); }
};

Status Check(ExportFlags* flags) {
  if (flags->words() && flags->options.names.size() > 1) {
    return InvalidArgument("--format {} writes the vectors of one table: give --name once",
                           flags->format);
  }
  if (!flags->words() && !flags->dict.empty()) {
    return InvalidArgument("--dict is for --format word2vec, not for {}", flags->format);
  }
  flags->options.format = flags->format == "npy"    ? ExportFormat::kNpy
                          : flags->format == "text" ? ExportFormat::kText
                                                    : ExportFormat::kSafetensors;
  return absl::OkStatus();
}

Status ExportWords(const ExportFlags& flags, Terminal& terminal) {
  const std::string table = flags.options.names.empty() ? "emb" : flags.options.names[0];
  FL_ASSIGN_OR_RETURN(const WordVectors vectors, LoadModelVectors(flags.model, table, flags.dict));
  const VectorFormat format =
      flags.format == "word2vec" ? VectorFormat::kText : VectorFormat::kBinary;
  FL_RETURN_IF_ERROR(SaveVectors(vectors, format, flags.options.out));
  terminal.out << fmt::format("{} ({}, {}): {}\n", table, vectors.vocabulary.size(), vectors.dim,
                              flags.options.out);
  return absl::OkStatus();
}

Status Export(const ExportFlags& flags, Terminal& terminal) {
  if (flags.words()) return ExportWords(flags, terminal);
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                      CheckpointReader::Open(FindModel(flags.model)));
  StatusOr<std::vector<ExportedTensor>> exported = ExportModel(*reader, flags.options);
  if (!exported.ok()) return Annotate(exported.status(), reader->dir());
  for (const ExportedTensor& tensor : *exported) {
    terminal.out << fmt::format("{} {}: {}\n", tensor.name, Shape{tensor.shape}.ToString(),
                                fmt::join(tensor.files, ", "));
  }
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(CLI::App& app, Action* action) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command =
      app.add_subcommand("export", "Writes the weights of a saved model for other tools");
  command
      ->add_option("MODEL_DIR", flags->model,
                   "A saved model, or a directory of models, of which the latest is used")
      ->type_name("")
      ->required();
  command
      ->add_option("--format", flags->format,
                   "Output format: npy, text, safetensors, word2vec or word2vec_binary (see below)")
      ->type_name("NAME")
      ->check(OneOf({"npy", "text", "safetensors", "word2vec", "word2vec_binary"}))
      ->required();
  command
      ->add_option("--dict", flags->dict,
                   "word2vec: dictionary (lines `word count`) for a model that does not store its "
                   "words because it was built with layers")
      ->type_name("FILE");
  command
      ->add_option(
          "--out", flags->options.out,
          "Output directory, or file for safetensors and word2vec; existing files are replaced")
      ->type_name("PATH")
      ->required();
  command
      ->add_option("--name", flags->options.names,
                   "Export only these parameters and tables (default: all)")
      ->type_name("NAME");
  command->footer(kFormatsHelp);
  SetAction(*command, action, flags, Check, Export);
}

}  // namespace flotilla
