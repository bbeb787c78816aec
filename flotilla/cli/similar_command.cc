#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/cli/commands.h"
#include "flotilla/cli/source_flags.h"
#include "flotilla/cli/word_report.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/infer/load_word_model.h"
#include "flotilla/infer/nearest_words.h"

namespace flotilla {
namespace {

struct SimilarFlags {
  // All arguments that are not flags, in order. Words may begin with a dash.
  std::vector<std::string> model_and_words;
  std::string dict;  // OpenWordVectors
  NearestOptions nearest = {.top = 10};
  std::string questions;
  int64_t question_words = 30000;
  bool original = false;
  std::vector<std::string> pairs;
  bool json = false;
};

Status Check(const SimilarFlags& flags) {
  if (flags.model_and_words.empty()) return InvalidArgument("MODEL is required");
  if (flags.model_and_words.size() == 1 && flags.questions.empty() && flags.pairs.empty()) {
    return InvalidArgument("give words, for example `king -man +woman`, or --questions or --pairs");
  }
  return absl::OkStatus();
}

Status TellNearest(const SimilarFlags& flags, const WordVectors& vectors,
                   nlohmann::ordered_json* json, std::string* text) {
  const std::span<const std::string> words = std::span(flags.model_and_words).subspan(1);
  if (words.empty()) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(const std::vector<NearWord> nearest,
                      SimilarWords(vectors.Normalized(), words, flags.nearest));
  (*json)["similar"] = nlohmann::ordered_json::array();
  for (const NearWord& near : nearest) {
    const std::string& word = vectors.vocabulary.word(near.id);
    (*json)["similar"].push_back({{"word", word}, {"similarity", near.similarity}});
    *text += fmt::format("{:<32}{:>8.4f}\n", word, near.similarity);
  }
  return absl::OkStatus();
}

Status TellScores(const SimilarFlags& flags, const WordVectors& vectors,
                  nlohmann::ordered_json* json, std::string* text) {
  if (!flags.questions.empty()) {
    FL_ASSIGN_OR_RETURN(const std::vector<AnalogySection> sections, LoadAnalogies(flags.questions));
    const AnalogyReport report = ScoreAnalogies(vectors, sections,
                                                {.normalize = !flags.original,
                                                 .words = flags.question_words,
                                                 .unknown_word = flags.original,
                                                 .threads = flags.nearest.threads});
    (*json)["analogy_accuracy"] = report.total.accuracy();
    (*json)["analogy"] = AnalogyJson(report);
    *text += AnalogyTable(report);
  }
  for (const std::string& path : flags.pairs) {
    FL_ASSIGN_OR_RETURN(const std::vector<WordPair> pairs, LoadWordPairs(path));
    const SimilarityReport report = ScoreSimilarity(vectors, pairs);
    (*json)["similarity"][SetName(path)] = SimilarityJson(report);
    *text += fmt::format("{:<32}{:>8.4f}    {} pairs, {} left out\n", SetName(path),
                         report.spearman, report.pairs, report.left_out);
  }
  return absl::OkStatus();
}

Status Similar(const SimilarFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const WordVectors vectors,
                      OpenWordVectors(flags.model_and_words[0], flags.dict));
  nlohmann::ordered_json json;
  std::string text;
  FL_RETURN_IF_ERROR(TellNearest(flags, vectors, &json, &text));
  FL_RETURN_IF_ERROR(TellScores(flags, vectors, &json, &text));
  terminal.out << (flags.json ? json.dump() + "\n" : text);
  return absl::OkStatus();
}

void AddFlags(CLI::App& command, SimilarFlags& flags) {
  command
      .add_option(
          "--dict", flags.dict,
          "Dictionary (lines `word count`) for a model that does not store its words because it "
          "was built with layers; its table emb has one row per word")
      ->type_name("FILE");
  AddOption(command, "--top", flags.nearest.top, "Number of nearest words to print", "N",
            WholeNumber(1));
  AddOption(command, "--words", flags.nearest.words,
            "Search only the first (most frequent) N words of the vocabulary (0: all)", "N",
            WholeNumber(0));
  command
      .add_option("--questions", flags.questions,
                  "Analogy questions to answer (lines `a b c d`, section headings `: name`)")
      ->type_name("FILE");
  AddOption(command, "--restrict_vocab,--question_words", flags.question_words,
            "Answer analogies with the first (most frequent) N words, as gensim does (0: all)", "N",
            WholeNumber(0));
  command.add_flag(
      "--original", flags.original,
      "Score analogies by the rule of PaddlePaddle's tutorials: vectors are not normalized, "
      "questions with unknown words count");
  command
      .add_option("--similarity,--pairs", flags.pairs,
                  "Word pairs with human scores to compare similarities with (lines `word word "
                  "score`)")
      ->type_name("FILE");
  AddThreadsFlag(command, &flags.nearest.threads, "Threads that search.");
  command.add_flag("--json", flags.json, "Print the results as one JSON object");
}

// MODEL and the words are not options of the command, because a word may begin with a dash.
class SimilarHelp : public CLI::Formatter {
 public:
  explicit SimilarHelp(const CLI::FormatterBase& other) { column_width(other.get_column_width()); }
  std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [OPTIONS] MODEL [WORD..]\n";
  }
};

}  // namespace

void AddSimilarCommand(CLI::App& app, Action* action) {
  auto flags = std::make_shared<SimilarFlags>();
  CLI::App* command = app.add_subcommand("similar",
                                         "Finds the words nearest to a word or to a sum of words: "
                                         "similar MODEL king -man +woman. MODEL is a model "
                                         "directory or a file of word vectors");
  command->formatter(std::make_shared<SimilarHelp>(*command->get_formatter()));
  AddFlags(*command, *flags);
  // A word may be -hat, which must not be taken for -h; so there are no short flags here.
  command->set_help_flag("--help", "Print this help message and exit (also -h, alone)");
  command->allow_extras();
  command->callback([flags, action, command] {
    flags->model_and_words = command->remaining();
    // In the place of MODEL, -h is not a word but asks for help.
    const std::vector<std::string>& words = flags->model_and_words;
    if (!words.empty() && words[0] == "-h") throw CLI::CallForHelp();
    action->check = [flags] { return Check(*flags); };
    action->run = [flags](Terminal& terminal) { return Similar(*flags, terminal); };
  });
}

}  // namespace flotilla
