#include "flotilla/cli/export_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/infer/export_model.h"
#include "flotilla/infer/find_model.h"
#include "flotilla/tensor/shape.h"

namespace flotilla {
namespace {

constexpr char kFormatsHelp[] = R"(Formats:
  npy          one file per tensor: NAME.npy; of a table NAME.ids.npy and NAME.weights.npy
  text         NAME.txt, one number a line; of a table `id w1 .. wd` a line
  safetensors  one file; of a table NAME.ids and NAME.weights

Example: flotilla export model --format npy --out tensors)";

struct ExportFlags {
  std::string model;
  std::string format;
  ExportOptions options;
};

Status Check(ExportFlags* flags) {
  flags->options.format = flags->format == "npy"    ? ExportFormat::kNpy
                          : flags->format == "text" ? ExportFormat::kText
                                                    : ExportFormat::kSafetensors;
  return absl::OkStatus();
}

Status Export(const ExportFlags& flags, Terminal& terminal) {
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
                   "A saved model, or a directory of models, whose latest is taken")
      ->type_name("")
      ->required();
  command->add_option("--format", flags->format, "npy, text or safetensors (see below)")
      ->type_name("NAME")
      ->check(OneOf({"npy", "text", "safetensors"}))
      ->required();
  command
      ->add_option("--out", flags->options.out,
                   "The directory, of safetensors the file; what is there is replaced")
      ->type_name("PATH")
      ->required();
  command
      ->add_option("--name", flags->options.names,
                   "Only these parameters and tables (default: all)")
      ->type_name("NAME");
  command->footer(kFormatsHelp);
  command->callback([flags, action] {
    action->check = [flags] { return Check(flags.get()); };
    action->run = [flags](Terminal& terminal) { return Export(*flags, terminal); };
  });
}

}  // namespace flotilla
