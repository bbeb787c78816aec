#include "flotilla/cli/train_word2vec_command.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "flotilla/cli/corpus_flags.h"
#include "flotilla/cli/word_report.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/fleet/fleet_flags.h"
#include "flotilla/fleet/train_flags.h"
#include "flotilla/fleet/word2vec_run.h"

namespace flotilla {
namespace {

constexpr char kWord2VecHelp[] =
    R"(--json prints one object with these keys:
  words                        words of the text over all epochs, before down-sampling
  words_per_second             words / (load_seconds + train_seconds): everything after the
                               dictionary, including the conversion of text to ids
  train_words_per_second       words / train_seconds
  seconds                      total time, from the first read to the last file
  dictionary_seconds, load_seconds, train_seconds, save_seconds    the parts of seconds
  vocabulary, kept             words in the dictionary; words trained on after down-sampling
  steps, loss, epochs, threads, mode, dim                 what was trained, and how
  stopped                      true if a signal ended the run before its last epoch
  analogy_accuracy             with --questions: accuracy by gensim's rule over 30000 words
  analogy, analogy_all, analogy_original    the same with its sections; over all words; by the rule
                               of PaddlePaddle's tutorials (vectors not normalized, questions with
                               unknown words included)
  similarity                   with --pairs: Spearman's correlation, by the name of the file

Example: flotilla train word2vec --data text.txt --vectors vectors.txt --epochs 5)";

struct Flags {
  Word2VecRunOptions options;
  CorpusFlags corpus;
  std::string input = "text", schedule = "linear", vectors_format = "text";
  std::optional<bool> in_memory;
  FleetFlags fleet;
  ViewOptions view;
  std::string log_format = "text";
  bool threads_given = false;
};

void AddTextFlags(CLI::App& command, Flags& flags) {
  Word2VecRunOptions& options = flags.options;
  AddCorpusFlags(command, "Worker threads per trainer (default: CPU_NUM in a job, else the cores)",
                 &flags.corpus);
  AddTokenizerFlag(command, &flags.corpus);
  command
      .add_option(
          "--input", flags.input,
          "Kind of input: text, raw text; or ids, the output of `data corpus filter`, which needs "
          "--dict (and usually --sample 0)")
      ->type_name("NAME")
      ->check(OneOf({"text", "ids"}))
      ->capture_default_str();
  command
      .add_option("--dict", options.dict,
                  "Use this dictionary (lines `word count`) instead of counting the words")
      ->type_name("FILE");
  command
      .add_option("--min_count", options.min_count, "Leave out words that occur fewer than N times")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  AddSwitch(command, "in_memory", &flags.in_memory,
            "Keep the ids of the text in memory, four bytes per word (default, unless they would "
            "take more than a quarter of the memory)",
            "Read the text again in every epoch");
}

void AddModelFlags(CLI::App& command, Flags& flags) {
  const std::string group = "Model";
  Word2VecRunOptions& options = flags.options;
  const auto whole = [&](const char* name, auto& value, int64_t least, const char* help) {
    command.add_option(name, value, help)
        ->type_name("N")
        ->check(WholeNumber(least, 1 << 20))
        ->capture_default_str()
        ->group(group);
  };
  whole("--dim", options.dim, 1, "Dimension of the word vectors");
  whole("--window", options.windows.window, 1,
        "Context words on each side: a random number in 1 .. N");
  whole("--negatives", options.windows.negatives, 0, "Negative samples per window");
  command
      .add_option(
          "--sample", options.windows.sample,
          "Down-sampling threshold: words with a higher frequency are left out at random (0: keep "
          "all)")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--cbow", options.cbow,
                "Train CBOW instead of skip-gram: the mean of the window predicts the word")
      ->group(group);
  command
      .add_flag("--bias", options.bias, "Add a bias for each word, as in PaddlePaddle's tutorials")
      ->group(group);
}

void AddLearningFlags(CLI::App& command, Flags& flags) {
  const std::string group = "Training";
  Word2VecRunOptions& options = flags.options;
  command.add_option("--epochs", options.epochs, "Passes over the text")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--learning_rate", options.learning_rate,
                  "Learning rate of the first step (default 0.025, and 0.1 with --cbow)")
      ->type_name("X")
      ->check(AboveZero())
      ->group(group);
  command
      .add_option("--schedule", flags.schedule,
                  "Learning rate schedule: linear, to almost zero at the end; exponential, a "
                  "staircase as in PaddlePaddle's tutorials; or constant")
      ->type_name("NAME")
      ->check(OneOf({"linear", "exponential", "constant"}))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--decay_steps", options.decay_steps,
                  "exponential: steps between two decays; a step is about ten thousand words")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--decay_rate", options.decay_rate,
                  "exponential: factor of the learning rate at each decay")
      ->type_name("X")
      ->check(AboveZero())
      ->capture_default_str()
      ->group(group);
  command.add_option("--seed", options.seed, "Seed of all random choices")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--deterministic", options.deterministic,
                "Bit-reproducible training for the same seed: one worker, batch after batch")
      ->group(group);
  command
      .add_option("--init_model", options.init_model,
                  "Start from these vectors: a model directory, or a file in word2vec's text or "
                  "binary format. New words of the text are added")
      ->type_name("PATH")
      ->group(group);
}

void AddResultFlags(CLI::App& command, Flags& flags) {
  const std::string group = "Output";
  Word2VecRunOptions& options = flags.options;
  command
      .add_option("--out", options.out,
                  "Directory for the model: DIR/epoch_N, DIR/latest; curves and metrics are "
                  "written to DIR.log")
      ->type_name("DIR")
      ->group(group);
  command
      .add_flag("--overwrite", options.overwrite,
                "Replace the models of another run in --out as soon as this run has saved its own")
      ->group(group);
  command.add_option("--plot", options.plot, "Plot the loss over the steps to this file (.svg)")
      ->type_name("FILE")
      ->group(group);
  AddProgressFlags(command, group, &flags.log_format, &flags.view);
  command.add_option("--vectors", options.vectors, "Write the vectors to this file")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--vectors_format", flags.vectors_format,
                  "Format of --vectors: text or binary, as in the word2vec C tool")
      ->type_name("NAME")
      ->check(OneOf({"text", "binary"}))
      ->capture_default_str()
      ->group(group);
  command.add_option("--save_dict", options.save_dict, "Write the dictionary to this file")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option(
          "--questions", options.questions,
          "Analogy questions to answer at the end (lines `a b c d`, section headings `: name`)")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option(
          "--similarity,--pairs", options.pairs,
          "Word pairs with human scores to compare similarities with at the end (lines `word word "
          "score`)")
      ->type_name("FILE")
      ->group(group);
}

// Rejects flags that have no effect in combination with the others.
Status CheckFlagsFit(const Flags& flags, const CLI::App& command) {
  const Word2VecRunOptions& options = flags.options;
  const struct {
    const char* flag;
    bool useless;
    const char* why;
  } rules[] = {
      // The process that starts a job counts the words for all others and passes them its own flags
      // and --dict.
      {"--min_count", !options.dict.empty() && options.fleet.role.kind == Role::Kind::kLocal,
       "--dict defines the words"},
      {"--tokenizer", options.text_is_ids, "--input ids is not split into words"},
      {"--decay_steps", flags.schedule != "exponential", "it is for --schedule exponential"},
      {"--decay_rate", flags.schedule != "exponential", "it is for --schedule exponential"},
      {"--overwrite", options.out.empty(), "it is for --out DIR"},
      {"--vectors_format", options.vectors.empty(), "it is for --vectors FILE"},
      {"--half_dense", true, "word vectors have no dense parameters"},
  };
  for (const auto& rule : rules) {
    if (rule.useless && Changed(*command.get_option(rule.flag))) {
      return InvalidArgument("{}: {}; leave it out", rule.flag, rule.why);
    }
  }
  return absl::OkStatus();
}

Status Check(Flags* flags, const CLI::App& command) {
  Word2VecRunOptions& options = flags->options;
  options.text_is_ids = flags->input == "ids";
  options.tokenizer = flags->corpus.kind();
  options.threads = flags->corpus.threads;
  options.in_memory = flags->in_memory;
  options.vectors_format =
      flags->vectors_format == "text" ? VectorFormat::kText : VectorFormat::kBinary;
  options.share_blocks = flags->fleet.data_split == "by_block";
  FL_RETURN_IF_ERROR(SettleFleetFlags(flags->fleet, options.deterministic, &options.fleet));
  FL_RETURN_IF_ERROR(CheckFlagsFit(*flags, command));
  if (!flags->threads_given) options.threads = options.fleet.role.threads.value_or(Cores());
  flags->view.log_json = flags->log_format == "json";
  using Schedule = Word2VecRunOptions::Schedule;
  options.schedule = flags->schedule == "linear"        ? Schedule::kLinear
                     : flags->schedule == "exponential" ? Schedule::kExponential
                                                        : Schedule::kConstant;
  if (options.text_is_ids && options.dict.empty()) {
    return InvalidArgument("--input ids needs the dictionary of the ids: give --dict FILE");
  }
  if (options.vectors.empty() && options.out.empty()) {
    return InvalidArgument("no result would be saved: give --out DIR or --vectors FILE");
  }
  return absl::OkStatus();
}

std::string ResultJson(const Word2VecRunOptions& options, const Word2VecResult& result) {
  nlohmann::ordered_json json = {{"words", result.words},
                                 {"words_per_second", result.words_per_second()},
                                 {"train_words_per_second", result.train_words_per_second()},
                                 {"seconds", result.dictionary_seconds + result.load_seconds +
                                                 result.train_seconds + result.save_seconds},
                                 {"dictionary_seconds", result.dictionary_seconds},
                                 {"load_seconds", result.load_seconds},
                                 {"train_seconds", result.train_seconds},
                                 {"save_seconds", result.save_seconds},
                                 {"vocabulary", result.vocabulary},
                                 {"kept", result.kept},
                                 {"steps", result.steps},
                                 {"loss", result.loss},
                                 {"stopped", result.stopped},
                                 {"epochs", options.epochs},
                                 {"threads", options.threads},
                                 {"mode", options.fleet.job.mode.mode},
                                 {"dim", options.dim}};
  AddScoresJson(result.scores, &json);
  return json.dump() + "\n";
}

std::string ResultText(const Word2VecResult& result) {
  std::string text = ScoresText(result.scores);
  text += fmt::format("vocabulary      {} words\n", result.vocabulary);
  text +=
      fmt::format("words           {}, {:.0f} words/s ({:.0f} without converting text to ids)\n",
                  result.words, result.words_per_second(), result.train_words_per_second());
  text += fmt::format(
      "time            dictionary {:.2f}, load {:.2f}, train {:.2f}, save {:.2f} s\n",
      result.dictionary_seconds, result.load_seconds, result.train_seconds, result.save_seconds);
  return text;
}

Status Train(const Flags& flags, Terminal& terminal) {
  Word2VecRunOptions options = flags.options;
  FL_ASSIGN_OR_RETURN(options.files, CorpusFiles(flags.corpus));
  const FleetOptions& fleet = options.fleet;
  if (fleet.role.is_server()) return ServeWord2Vec(options, terminal);
  if (fleet.server_num > 0 && !fleet.role.is_trainer()) return StartWord2Vec(options, terminal);
  FL_ASSIGN_OR_RETURN(const Word2VecResult result, RunWord2Vec(options, terminal));
  // Trainer 0 prints the results of all trainers.
  if (fleet.role.is_trainer() && fleet.role.index != 0) return absl::OkStatus();
  const std::string text = flags.corpus.json ? ResultJson(options, result) : ResultText(result);
  terminal.out << text;
  if (!fleet.result_file.empty()) std::ofstream(fleet.result_file) << text;
  return absl::OkStatus();
}

}  // namespace

void RouteTrainWord2Vec(std::vector<std::string>* args) {
  if (args->size() < 2 || (*args)[0] != "train" || (*args)[1] != "word2vec") return;
  args->erase(args->begin());
  args->front() = kTrainWord2VecCommand;
}

void AddTrainWord2VecCommand(CLI::App& app, Action* action) {
  auto flags = std::make_shared<Flags>();
  // Every batch of text changes the rows of frequent words a lot: late updates would make them
  // overshoot.
  flags->options.fleet.job.mode.async.max_staleness = 0;
  // Rows are exchanged before their copies drift far apart, so what each trainer has learned counts
  // in full.
  flags->fleet.geo_divisor = "none";
  CLI::App* command = app.add_subcommand(
      kTrainWord2VecCommand,
      "Trains word vectors on text (also available as `train word2vec`): builds the dictionary, "
      "converts the text to ids and trains, in one run");
  AddTextFlags(*command, *flags);
  AddModelFlags(*command, *flags);
  AddLearningFlags(*command, *flags);
  AddFleetFlags(*command, {"by_block", "by_file", "none"}, &flags->options.fleet, &flags->fleet);
  AddResultFlags(*command, *flags);
  AddConfigFlags(*command);
  command->footer(kWord2VecHelp);
  command->callback([flags, action, command] {
    flags->threads_given = command->count("--threads") > 0;
    action->view = [flags](ConsoleOptions* view) { SetView(flags->view, view); };
    action->check = [flags, command] { return Check(flags.get(), *command); };
    action->run = [flags](Terminal& terminal) { return Train(*flags, terminal); };
  });
}

}  // namespace flotilla
