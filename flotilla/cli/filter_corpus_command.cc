#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/cli/commands.h"
#include "flotilla/cli/corpus_flags.h"
#include "flotilla/corpus/corpus_files.h"
#include "flotilla/fleet/flags.h"

namespace flotilla {
namespace {

struct FilterFlags {
  CorpusFlags corpus;
  std::string dict, out;
  CorpusFilesOptions options;
};

Status Filter(const FilterFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> files, CorpusFiles(flags.corpus));
  StatusOr<Vocabulary> vocabulary = Vocabulary::Load(flags.dict);
  if (!vocabulary.ok()) return Annotate(vocabulary.status(), "--dict");
  CorpusFilesOptions options = flags.options;
  options.tokenizer = flags.corpus.kind();
  options.threads = flags.corpus.threads;
  options.on_progress = TextProgress(terminal);
  FL_ASSIGN_OR_RETURN(const FilterResult result,
                      FilterCorpus(files, *vocabulary, flags.out, options));
  const std::string ids = flags.dict + "_word_to_id_";
  FL_RETURN_IF_ERROR(vocabulary->SaveIds(ids));
  if (result.words > 0 && result.unknown == result.words) {
    terminal.log.warn(
        "no word of the text is in {}: check that it is the dictionary of this corpus and that "
        "--tokenizer is the one it was built with",
        flags.dict);
  }
  terminal.log.info("wrote {} files to {} and {}", result.files.size(), flags.out, ids);
  const nlohmann::ordered_json json = {{"words", result.words},
                                       {"unknown", result.unknown},
                                       {"written", result.written},
                                       {"files", result.files}};
  if (flags.corpus.json) {
    terminal.out << json.dump() << "\n";
  } else {
    terminal.out << fmt::format(
        "words           {:>12}\nunknown         {:>12}\nwritten         {:>12}\n", result.words,
        result.unknown, result.written);
  }
  return absl::OkStatus();
}

}  // namespace

void AddFilterCorpusCommand(CLI::App& corpus, Action* action) {
  auto flags = std::make_shared<FilterFlags>();
  CLI::App* command =
      corpus.add_subcommand("filter",
                            "Converts every file of a corpus to ids, line by line, and "
                            "down-samples frequent words. Writes the files to DIR and the id of "
                            "every word to <dict>_word_to_id_.");
  AddCorpusFlags(*command, &flags->corpus);
  AddTokenizerFlag(*command, &flags->corpus);
  command->add_option("--dict", flags->dict, "Dictionary written by build-dict")
      ->type_name("FILE")
      ->required();
  command->add_option("--out", flags->out, "Directory for the output files")
      ->type_name("DIR")
      ->required();
  AddOption(*command, "--min_count", flags->options.min_count,
            "Words of the dictionary with a count of N or less become <UNK>; the other words keep "
            "the ids of the dictionary (0: none)",
            "N", WholeNumber(0));
  AddOption(*command, "--downsample", flags->options.downsample,
            "Down-sampling threshold t: a word with frequency f is kept with probability "
            "(sqrt(f / t) + 1) * t / f (0: keep all)",
            "X", CLI::NonNegativeNumber);
  AddOption(*command, "--seed", flags->options.seed, "Seed of the down-sampling", "N",
            WholeNumber(0));
  SetAction(*command, action, flags, nullptr, Filter);
}

}  // namespace flotilla
