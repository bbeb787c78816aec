#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "flotilla/base/worker_pool.h"
#include "flotilla/cli/commands.h"
#include "flotilla/cli/infer_report.h"
#include "flotilla/cli/infer_rows.h"
#include "flotilla/cli/infer_words.h"
#include "flotilla/cli/source_flags.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/data_flags.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/infer/evaluate.h"
#include "flotilla/infer/load_word_model.h"
#include "flotilla/infer/predictor.h"
#include "flotilla/run/open_data.h"

namespace flotilla {
namespace {

constexpr char kInferExamples[] = R"(

Examples: flotilla infer model --data test/ --predictions scores.txt
          flotilla infer model --data test/ --predictions - | sort -g | tail
          flotilla infer model/epoch_* --data test/
          flotilla infer words --questions questions-words.txt --similarity wordsim353.txt)";

// Flags that only word vectors have, and flags that all models have; all others are for models of
// rows.
constexpr const char* kWordFlags[] = {"--questions", "--similarity", "--restrict_vocab", "--dict"};
constexpr const char* kSharedFlags[] = {"--threads", "--json", "--config", "--print_config"};

// Values of --predictions that mean standard output.
constexpr const char* kStandardOutput[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};

struct InferFlags {
  std::vector<std::string> models;
  std::vector<std::string> paths;  // --data
  std::string predictions;
  int64_t batch_size = 1000;
  int threads = 1;
  bool json = false;
  std::optional<bool> in_memory;  // default: true for several models
  DataOptions data;
  DataFlags data_flags;
  WordScoreOptions words;
  std::string dict;                // words of a model that does not store them
  std::vector<std::string> given;  // names of the flags that were given
};

bool Has(std::span<const char* const> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool HasWords(const InferFlags& flags) {
  return !flags.dict.empty() || IsWordModel(flags.models[0]);
}

// Rejects flags that do not fit the kind of model: word vectors, or a model of rows.
Status CheckKind(const InferFlags& flags, bool words) {
  for (const std::string& name : flags.given) {
    if (Has(kSharedFlags, name) || Has(kWordFlags, name) == words) continue;
    const std::string& model = flags.models[0];
    if (words) {
      return InvalidArgument(
          "{} is for models of rows, and {} holds word vectors: give --questions or --similarity",
          name, model);
    }
    return InvalidArgument("{} is for word vectors, and {} is not a word2vec model: give --data",
                           name, model);
  }
  if (words && flags.words.questions.empty() && flags.words.pairs.empty()) {
    return InvalidArgument("{} holds word vectors: give --questions or --similarity FILE",
                           flags.models[0]);
  }
  if (!words && flags.paths.empty()) return InvalidArgument("--data is required");
  return absl::OkStatus();
}

// Whether scores go to standard output; the report then goes to standard error.
bool ToStandardOutput(const InferFlags& flags) { return Has(kStandardOutput, flags.predictions); }

Status Check(InferFlags* flags) {
  flags->words.threads = flags->threads;
  FL_RETURN_IF_ERROR(CheckKind(*flags, HasWords(*flags)));
  flags->data.in_memory = flags->in_memory.value_or(flags->models.size() > 1);
  SettleDataFlags(flags->data_flags, &flags->data);
  if (flags->predictions.empty()) return absl::OkStatus();
  if (flags->models.size() > 1) {
    return InvalidArgument("--predictions writes the scores of one model, {} were given",
                           flags->models.size());
  }
  if (flags->json && ToStandardOutput(*flags)) {
    return InvalidArgument(
        "--predictions {} and --json both write to standard output: give --predictions a file",
        flags->predictions);
  }
  if (flags->data.readers > 1 && !flags->data.in_memory) {
    return InvalidArgument(
        "--predictions needs the rows in their order, which several --readers do not keep: add "
        "--in_memory, or leave --readers out");
  }
  return absl::OkStatus();
}

StatusOr<InferResult> InferModel(const std::string& model, const InferFlags& flags, InferRows& rows,
                                 Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                      Predictor::Load(model, {.threads = flags.threads, .with_metrics = true}));
  InferResult result{.model = predictor->dir(), .step = predictor->manifest().info.step};
  const Sections& sections = predictor->manifest().info.sections;
  if (const auto section = sections.find(kRunSection); section != sections.end()) {
    StatusOr<RunState> run = RunState::FromText(section->second);
    if (run.ok()) result.run = *std::move(run);
  }
  FL_ASSIGN_OR_RETURN(const InferredRows opened, rows.For(*predictor, terminal));
  result.load_seconds = opened.load_seconds;
  result.absent = opened.absent;
  EvaluateOptions options{.threads = flags.threads,
                          .predictions = flags.predictions,
                          .score_columns = flags.predictions.empty() ? std::vector<std::string>()
                                                                     : ClassColumns(*predictor),
                          .kept_columns = opened.kept_columns,
                          .kept = opened.kept};
  if (ToStandardOutput(flags)) options.predictions_stream = &terminal.out;
  FL_ASSIGN_OR_RETURN(result.evaluation,
                      Evaluate(*predictor, *opened.dataset, terminal.clock, options));
  for (const std::string& bad : result.evaluation.bad_rows) {
    terminal.log.warn("skipped {}", bad);
  }
  for (const std::string& hint : result.evaluation.hints) terminal.log.warn("{}", hint);
  if (const std::string note = rows.TakeNote(); !note.empty()) {
    terminal.log.info("--data: {}", note);
  }
  return result;
}

Status Infer(const InferFlags& flags, Terminal& terminal) {
  if (HasWords(flags)) {
    return InferWords(flags.models, flags.dict, flags.words, flags.json, terminal);
  }
  FL_ASSIGN_OR_RETURN(std::vector<std::string> files, FindFiles("--data", flags.paths, flags.data));
  FL_RETURN_IF_ERROR(CheckNotRead("--predictions", flags.predictions, files));
  InferRows rows({.files = std::move(files),
                  .data = flags.data,
                  .batch_size = flags.batch_size,
                  .threads = flags.threads,
                  .with_kept = !flags.predictions.empty()});
  for (const std::string& model : flags.models) {
    FL_ASSIGN_OR_RETURN(const InferResult result, InferModel(model, flags, rows, terminal));
    if (flags.json) {
      terminal.out << InferJson(result);
    } else if (ToStandardOutput(flags)) {
      terminal.log.info("scores are on standard output\n{}", InferTable(result));
    } else {
      terminal.out << (flags.models.size() > 1 ? InferLine(result) : InferTable(result));
    }
    terminal.out.flush();
  }
  return absl::OkStatus();
}

void AddWordFlags(CLI::App& command, InferFlags* flags) {
  const std::string group = "Word vectors";
  WordScoreOptions* const words = &flags->words;
  command
      .add_option(
          "--dict", flags->dict,
          "Dictionary (lines `word count`) for a model that does not store its words because it "
          "was built with layers; its table emb has one row per word")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--questions", words->questions,
                  "Analogy questions to answer (lines `a b c d`, section headings `: name`)")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--similarity,--pairs", words->pairs,
                  "Word pairs with human scores to compare similarities with (lines `word word "
                  "score`)")
      ->type_name("FILE")
      ->group(group);
  AddOption(command, "--restrict_vocab,--question_words", words->restrict_vocab,
            "Answer analogies with the first (most frequent) N words, as gensim does (0: all)", "N",
            WholeNumber(0))
      ->group(group);
}

void AddFlags(CLI::App& command, InferFlags* flags) {
  command
      .add_option("MODEL_DIR", flags->models,
                  "A saved model, or a directory of models, of which the latest is used; several "
                  "models are reported one per line")
      ->type_name("")
      ->required();
  AddOption(command, "--batch_size", flags->batch_size, "Rows per batch", "N", WholeNumber(1));
  AddThreadsFlag(command, &flags->threads, "Threads that score rows.");
  command
      .add_option(
          "--predictions", flags->predictions,
          "Write the scores to this file, one per line, in the order of the rows; of a model of "
          "classes one column per class, and the columns that the schema keeps, tab-separated with "
          "a header; -: to standard output, "
          "the report then goes to standard error")
      ->type_name("FILE");
  command.add_flag("--json", flags->json, "Print the results as JSON (see below)");
  command.add_option("--data", flags->paths, std::string("Rows to score: ") + kPathsHelp)
      ->type_name("PATH")
      ->group("Data sources and formats");
  AddFormatFlags(command, &flags->data, &flags->data_flags);
  AddIgnoreFormatFlag(command, &flags->data);
  AddSwitch(command, "in_memory", &flags->in_memory,
            "Keep the rows in memory, for all models (default for several models)",
            "Score rows as they are read and keep nothing (default for one model)", "Reading rows");
  AddReaderFlags(command, &flags->data);
  AddWordFlags(command, flags);
}

}  // namespace

void AddInferCommand(CLI::App& app, Action* action) {
  auto flags = std::make_shared<InferFlags>();
  CLI::App* command = app.add_subcommand(
      "infer", "Scores rows with a saved model, or evaluates saved word vectors");
  AddFlags(*command, flags.get());
  AddConfigFlags(*command);
  command->footer(std::string(kInferJsonHelp) + kInferWordsJsonHelp + kInferExamples);
  command->callback([flags, action, command] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 0 && !option->get_positional()) {
        flags->given.push_back(option->get_name());
      }
    }
    action->check = [flags] { return Check(flags.get()); };
    action->run = [flags](Terminal& terminal) { return Infer(*flags, terminal); };
  });
}

}  // namespace flotilla
