#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "flotilla/cli/commands.h"
#include "flotilla/cli/corpus_flags.h"
#include "flotilla/cli/word_report.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/fleet/run_flags.h"
#include "flotilla/run/run.h"
#include "flotilla/run/word2vec_task.h"

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
  RunFlags run;
  CorpusFlags corpus;
  std::string input = "text", schedule = "linear", vectors_format = "text";
  bool cbow = false;
  std::string cbow_rule = "gradient";
};

void AddTextFlags(CLI::App& command, Flags& flags) {
  Word2VecRunOptions& options = flags.options;
  AddTextFlag(command, &flags.corpus);
  AddTokenizerFlag(command, &flags.corpus);
  AddOption(
      command, "--input", flags.input,
      "Kind of input: text, raw text; or ids, the output of `data corpus filter`, which needs "
      "--dict (and usually --sample 0)",
      "NAME", OneOf({"text", "ids"}));
  command
      .add_option("--dict", options.dict,
                  "Use this dictionary (lines `word count`) instead of counting the words")
      ->type_name("FILE");
  AddOption(command, "--min_count", options.min_count,
            "Leave out words that occur fewer than N times", "N", WholeNumber(1));
  AddSwitch(command, "in_memory", &options.in_memory,
            "Keep the ids of the text in memory, four bytes per word (default, unless they would "
            "take more than a quarter of the memory)",
            "Read the text again in every epoch");
}

void AddModelFlags(CLI::App& command, Flags& flags) {
  const std::string group = kModelFlags;
  Word2VecRunOptions& options = flags.options;
  const auto whole = [&](const char* name, auto& value, int64_t least, const char* help) {
    AddOption(command, name, value, help, "N", WholeNumber(least, 1 << 20))->group(group);
  };
  whole("--dim", options.dim, 1, "Dimension of the word vectors");
  whole("--window", options.windows.window, 1,
        "Context words on each side: a random number in 1 .. N");
  command
      .add_flag("--fixed_window", options.windows.fixed, "Always use N context words on each side")
      ->group(group);
  whole("--negatives", options.windows.negatives, 0, "Negative samples per window");
  AddOption(
      command, "--sample", options.windows.sample,
      "Down-sampling threshold: words with a higher frequency are left out at random (0: keep "
      "all)",
      "X", CLI::NonNegativeNumber)
      ->group(group);
  command
      .add_flag(
          "--cbow", flags.cbow,
          "Train CBOW instead of skip-gram: the words of the window together predict the word")
      ->group(group);
  AddOption(command, "--cbow_rule", flags.cbow_rule,
            "What predicts the word: gradient, the mean of the window, each word of which gets its "
            "share of the gradient; mean, the same, but each word gets all of the gradient, as in "
            "the word2vec C tool and gensim; sum, the sum of the window",
            "NAME", OneOf({"gradient", "mean", "sum"}))
      ->group(group);
  command
      .add_flag("--bias", options.bias, "Add a bias for each word, as in PaddlePaddle's tutorials")
      ->group(group);
  AddOption(command, "--start_range", options.start_range,
            "Initial vectors are uniform in +-X / dim: 0.5 as in the word2vec C tool, 1 in gensim",
            "X", AboveZero())
      ->group(group);
}

void AddLearningFlags(CLI::App& command, Flags& flags) {
  const std::string group = kModelFlags;
  Word2VecRunOptions& options = flags.options;
  command
      .add_option("--learning_rate", options.learning_rate,
                  "Learning rate of the first step (default 0.025, and 0.1 with --cbow and "
                  "--cbow_rule gradient)")
      ->type_name("X")
      ->check(AboveZero())
      ->group(group);
  command
      .add_option("--last_learning_rate", options.last_learning_rate,
                  "linear: learning rate of the last step (default: 1/10000 of the first)")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  AddOption(command, "--schedule", flags.schedule,
            "Learning rate schedule: linear, to almost zero at the end; exponential, a "
            "staircase as in PaddlePaddle's tutorials; or constant",
            "NAME", OneOf({"linear", "exponential", "constant"}))
      ->group(group);
  AddOption(command, "--decay_steps", options.decay_steps,
            "exponential: steps between two decays; a step is about ten thousand words", "N",
            WholeNumber(1))
      ->group(group);
  AddOption(command, "--decay_rate", options.decay_rate,
            "exponential: factor of the learning rate at each decay", "X", AboveZero())
      ->group(group);
  command
      .add_option("--init_model", options.init_vectors,
                  "Start from these vectors: a model directory, or a file in word2vec's text or "
                  "binary format. New words of the text are added. No effect if --resume finds a "
                  "model in --out")
      ->type_name("PATH")
      ->group(kSaveGroup);
}

void AddResultFlags(CLI::App& command, Flags& flags) {
  Word2VecRunOptions& options = flags.options;
  command.add_option("--vectors", options.vectors, "Write the vectors to this file")
      ->type_name("FILE");
  AddOption(command, "--vectors_format", flags.vectors_format,
            "Format of --vectors: text or binary, as in the word2vec C tool", "NAME",
            OneOf({"text", "binary"}));
  command.add_option("--save_dict", options.save_dict, "Write the dictionary to this file")
      ->type_name("FILE");
  command
      .add_option(
          "--questions", options.questions,
          "Analogy questions to answer at the end (lines `a b c d`, section headings `: name`)")
      ->type_name("FILE");
  command
      .add_option(
          "--similarity,--pairs", options.pairs,
          "Word pairs with human scores to compare similarities with at the end (lines `word word "
          "score`)")
      ->type_name("FILE");
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
      {"--cbow_rule", !flags.cbow, "it is for --cbow"},
      {"--last_learning_rate", flags.schedule != "linear", "it is for --schedule linear"},
      {"--decay_steps", flags.schedule != "exponential", "it is for --schedule exponential"},
      {"--decay_rate", flags.schedule != "exponential", "it is for --schedule exponential"},
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
  options.vectors_format =
      flags->vectors_format == "text" ? VectorFormat::kText : VectorFormat::kBinary;
  if (flags->cbow) {
    using kernels::CbowRule;
    options.cbow = flags->cbow_rule == "gradient" ? CbowRule::kGradient
                   : flags->cbow_rule == "mean"   ? CbowRule::kMean
                                                  : CbowRule::kSum;
  }
  options.share_blocks = flags->run.fleet.data_split == "by_block";
  FL_RETURN_IF_ERROR(SettleRunFlags(flags->run, &options));
  FL_RETURN_IF_ERROR(CheckFlagsFit(*flags, command));
  using Schedule = Word2VecRunOptions::Schedule;
  options.schedule = flags->schedule == "linear"        ? Schedule::kLinear
                     : flags->schedule == "exponential" ? Schedule::kExponential
                                                        : Schedule::kConstant;
  if (options.text_is_ids && options.dict.empty()) {
    return InvalidArgument("--input ids needs the dictionary of the ids: give --dict FILE");
  }
  if (options.vectors.empty() && options.keep.out.empty()) {
    return InvalidArgument("no result would be saved: give --out DIR or --vectors FILE");
  }
  return absl::OkStatus();
}

// The figures of a run.
struct Figures {
  const RunResult& run;
  const Word2VecTask::Results& text;

  double load_seconds() const { return run.summary.load_seconds; }
  double train_seconds() const { return run.summary.train_seconds; }
  double save_seconds() const { return run.summary.save_seconds + text.save_seconds; }
  double WordsPer(double seconds) const {
    return seconds > 0 ? static_cast<double>(run.examples) / seconds : 0;
  }
  // Measured from the first read after the dictionary, so it includes converting text to ids.
  double words_per_second() const { return WordsPer(load_seconds() + train_seconds()); }
  // Measured over the epochs only.
  double train_words_per_second() const { return WordsPer(train_seconds()); }
};

std::string WordsJson(const Word2VecRunOptions& options, const Figures& figures) {
  const double dictionary_seconds = figures.text.dictionary_seconds;
  nlohmann::ordered_json json = {{"words", figures.run.examples},
                                 {"words_per_second", figures.words_per_second()},
                                 {"train_words_per_second", figures.train_words_per_second()},
                                 {"seconds", dictionary_seconds + figures.load_seconds() +
                                                 figures.train_seconds() + figures.save_seconds()},
                                 {"dictionary_seconds", dictionary_seconds},
                                 {"load_seconds", figures.load_seconds()},
                                 {"train_seconds", figures.train_seconds()},
                                 {"save_seconds", figures.save_seconds()},
                                 {"vocabulary", figures.text.vocabulary},
                                 {"kept", figures.run.trained},
                                 {"steps", figures.run.steps},
                                 {"loss", figures.run.train.loss},
                                 {"failed_saves", figures.run.failed_saves},
                                 {"stopped", figures.run.stopped},
                                 {"epochs", options.epochs},
                                 {"threads", options.threads},
                                 {"mode", options.fleet.job.mode.mode},
                                 {"dim", options.dim}};
  AddScoresJson(figures.text.scores, &json);
  return json.dump() + "\n";
}

std::string WordsText(const Figures& figures) {
  std::string text = ScoresText(figures.text.scores);
  text += fmt::format("vocabulary      {} words\n", figures.text.vocabulary);
  text += fmt::format(
      "words           {}, {:.0f} words/s ({:.0f} without converting text to ids)\n",
      figures.run.examples, figures.words_per_second(), figures.train_words_per_second());
  text +=
      fmt::format("time            dictionary {:.2f}, load {:.2f}, train {:.2f}, save {:.2f} s\n",
                  figures.text.dictionary_seconds, figures.load_seconds(), figures.train_seconds(),
                  figures.save_seconds());
  return text;
}

Status Train(const Flags& flags, Terminal& terminal) {
  Word2VecRunOptions options = flags.options;
  FL_ASSIGN_OR_RETURN(options.files, CorpusFiles(flags.corpus));
  Word2VecTask task(&options);
  const auto text = [&](const RunResult& result) {
    const Figures figures{.run = result, .text = task.results()};
    return options.view.json ? WordsJson(options, figures) : WordsText(figures);
  };
  return RunAndReport(options, task, text, terminal);
}

}  // namespace

void AddTrainWord2VecCommand(CLI::App& train, Action* action) {
  auto flags = std::make_shared<Flags>();
  Word2VecRunOptions& options = flags->options;
  options.model_name = "word2vec";
  options.epochs = 5;
  // Every batch of text changes the rows of frequent words a lot: late updates would make them
  // overshoot.
  options.fleet.job.mode.async.max_staleness = 0;
  // Rows are exchanged before their copies drift far apart, so what each trainer has learned counts
  // in full.
  flags->run.fleet.geo_divisor = "none";
  CLI::App* command = train.add_subcommand(
      "word2vec", "Word vectors from text: dictionary, ids and training in one run");
  AddTextFlags(*command, *flags);
  AddOutFlags(*command, &options.keep);
  AddResultFlags(*command, *flags);
  AddEpochFlags(*command, "text",
                "Bit-reproducible training for the same seed: one worker, batch after batch",
                &options, &flags->run);
  AddHelpAll(*command);
  AddModelFlags(*command, *flags);
  AddLearningFlags(*command, *flags);
  AddSaveFlags(*command, &options.keep);
  AddJobFlags(*command, {"by_block", "by_file", "none"}, &options, &flags->run);
  AddViewFlags(*command, &options, &flags->run);
  AddConfigFlags(*command);
  command->group(kModelCommands);
  command->footer(kWord2VecHelp);
  command->callback([flags, action, command] {
    action->view = [flags](ConsoleOptions* view) { SetView(flags->options.view, view); };
    action->check = [flags, command] { return Check(flags.get(), *command); };
    action->run = [flags](Terminal& terminal) { return Train(*flags, terminal); };
  });
}

}  // namespace flotilla
