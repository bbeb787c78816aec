#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/base/pipe_command.h"
#include "flotilla/checkpoint/optimizer_json.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/cli/commands.h"
#include "flotilla/infer/find_model.h"
#include "flotilla/infer/model_sections.h"
#include "flotilla/schema/fitted_schema.h"
#include "flotilla/tensor/shape.h"

namespace flotilla {
namespace {

using Json = nlohmann::ordered_json;

struct InspectFlags {
  std::string model;
  bool json = false;
};

std::string Checksum(const SavedFile& file) { return fmt::format("{:016x}", file.checksum()); }

int64_t SizeOf(const SavedParameter& parameter) { return Shape{parameter.shape}.row_size(); }

int64_t AllBytes(const Manifest& manifest) {
  int64_t bytes = 0;
  for (const SavedFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

std::string OptimizerText(const OptimizerSpec& optimizer) {
  std::string text = optimizer.name;
  for (const auto& [name, value] : optimizer.params) text += fmt::format(" {}={}", name, value);
  text += fmt::format(", learning rate {}", optimizer.learning_rate.name);
  for (const auto& [name, value] : optimizer.learning_rate.params) {
    text += fmt::format(" {}={}", name, value);
  }
  return text;
}

std::string TableText(const SavedTable& table) {
  const std::string ids =
      table.id_limit == 0 ? "any id" : fmt::format("ids below {}", table.id_limit);
  return fmt::format("  {:<28}{:>12} rows of {}, {}, {} states{}, {} {}\n", table.name,
                     table.rows(), table.dim, ids, table.states, table.meta ? ", meta" : "",
                     table.parts.size(), table.parts.size() == 1 ? "file" : "files");
}

// Shows the text of short sections (a name or a value) and only the size of others.
std::string SectionText(const std::string& name, const std::string& text) {
  constexpr size_t kShort = 60;
  const bool plain = text.size() <= kShort && text.find('\n') == std::string::npos;
  return fmt::format("  {:<28}{}\n", name, plain ? text : fmt::format("{} bytes", text.size()));
}

// The format of the rows that the model was trained on.
std::string RowsText(const Sections& sections) {
  const StatusOr<ParserSpec> format = FormatFromSections(sections);
  if (!format.ok() || format->format.empty()) return "unknown";
  std::string text = format->format;
  for (const auto& [name, value] : format->params) {
    constexpr size_t kShort = 60;
    text += value.size() <= kShort ? fmt::format(" {}={}", name, value)
                                   : fmt::format(" {}=({} bytes)", name, value.size());
  }
  if (!format->pipe_command.value_or("").empty()) {
    text += fmt::format(", through the pipe command {}", ShellQuoted(*format->pipe_command));
  }
  return text;
}

// The name of the model; empty: unknown.
std::string NameOfModel(const Sections& sections) {
  const auto name = sections.find(kModelNameSection);
  return name == sections.end() ? "" : name->second;
}

// The labels, by name, and what each of them asks, as far as the format of the rows tells.
std::vector<std::pair<std::string, std::string>> LabelsOf(const Sections& sections) {
  std::vector<std::pair<std::string, std::string>> labels;
  const StatusOr<ParserSpec> format = FormatFromSections(sections);
  if (!format.ok()) return labels;
  const StatusOr<FittedSchema> fitted = SchemaOfSpec(*format);
  if (!fitted.ok()) return labels;
  const std::vector<Column>& columns = fitted->schema().columns;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].role != Column::Role::kLabel) continue;
    labels.emplace_back(columns[c].name, TaskText(*fitted, c));
  }
  return labels;
}

std::string InspectText(const std::string& dir, const Manifest& manifest) {
  const CheckpointInfo& info = manifest.info;
  std::string text;
  const auto line = [&text](std::string_view key, std::string_view value) {
    text += fmt::format("{:<16}{}\n", key, value);
  };
  line("model", dir);
  if (const std::string name = NameOfModel(info.sections); !name.empty()) line("kind", name);
  for (const auto& [label, task] : LabelsOf(info.sections)) {
    line("label", fmt::format("{}: {}", label, task));
  }
  line("step", fmt::to_string(info.step));
  line("seed", fmt::to_string(info.seed));
  line("optimizer", OptimizerText(info.optimizer));
  line("can continue", info.optimizer_state ? "yes, with the optimizer's state"
                       : info.inference     ? "no, saved for inference"
                                        : "yes, with a fresh optimizer: its state was not saved");
  if (info.sections.contains("format")) line("rows", RowsText(info.sections));
  text += fmt::format("\nparameters ({})\n", manifest.parameters.size());
  for (const SavedParameter& parameter : manifest.parameters) {
    text += fmt::format("  {:<28}{:>12} numbers {}, {} states\n", parameter.name, SizeOf(parameter),
                        Shape{parameter.shape}.ToString(), parameter.states);
  }
  text += fmt::format("\ntables ({})\n", manifest.tables.size());
  for (const SavedTable& table : manifest.tables) text += TableText(table);
  text += fmt::format("\nsections ({})\n", info.sections.size());
  for (const auto& [name, section] : info.sections) text += SectionText(name, section);
  text += fmt::format("\nfiles ({}), {} bytes, all verified\n", manifest.files.size(),
                      AllBytes(manifest));
  for (const SavedFile& file : manifest.files) {
    text += fmt::format("  {:<28}{:>12} bytes, XXH64 {}\n", file.name, file.bytes, Checksum(file));
  }
  return text;
}

std::string InspectJson(const std::string& dir, const Manifest& manifest) {
  const CheckpointInfo& info = manifest.info;
  Json labels = Json::array();
  for (const auto& [label, task] : LabelsOf(info.sections)) {
    labels.push_back({{"name", label}, {"task", task}});
  }
  const std::string kind = NameOfModel(info.sections);
  Json json{{"model", dir},
            {"kind", kind.empty() ? Json() : Json(kind)},
            {"labels", labels},
            {"step", info.step},
            {"seed", info.seed},
            {"optimizer_state", info.optimizer_state},
            {"optimizer", OptimizerToJson(info.optimizer)},
            {"parameters", Json::array()},
            {"tables", Json::array()},
            {"sections", Json::object()},
            {"files", Json::array()},
            {"bytes", AllBytes(manifest)},
            {"verified", true}};
  for (const SavedParameter& parameter : manifest.parameters) {
    json["parameters"].push_back(
        {{"name", parameter.name}, {"shape", parameter.shape}, {"states", parameter.states}});
  }
  for (const SavedTable& table : manifest.tables) {
    json["tables"].push_back({{"name", table.name},
                              {"rows", table.rows()},
                              {"dim", table.dim},
                              {"id_limit", table.id_limit},
                              {"states", table.states},
                              {"meta", table.meta}});
  }
  for (const auto& [name, section] : info.sections) json["sections"][name] = section;
  for (const SavedFile& file : manifest.files) {
    json["files"].push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"checksum", Checksum(file)}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status Inspect(const InspectFlags& flags, Terminal& terminal) {
  const std::string dir = FindModel(flags.model);
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(dir));
  terminal.out << (flags.json ? InspectJson(dir, reader->manifest())
                              : InspectText(dir, reader->manifest()));
  return absl::OkStatus();
}

}  // namespace

void AddInspectCommand(CLI::App& app, Action* action) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command =
      app.add_subcommand("inspect", "Verifies a saved model and shows its contents");
  command
      ->add_option("MODEL_DIR", flags->model,
                   "A saved model, or a directory of models, of which the latest is used")
      ->type_name("")
      ->required();
  command->add_flag("--json", flags->json,
                    "Print one JSON object, with the full text of all sections");
  SetAction(*command, action, flags, nullptr, Inspect);
}

}  // namespace flotilla
