#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/cli/commands.h"
#include "flotilla/cli/corpus_flags.h"
#include "flotilla/corpus/count_words.h"
#include "flotilla/corpus/vocabulary.h"
#include "flotilla/fleet/flags.h"

namespace flotilla {
namespace {

struct BuildDictFlags {
  CorpusFlags corpus;
  std::string dict;
  uint64_t min_count = 5;
};

Status BuildDict(const BuildDictFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> files, CorpusFiles(flags.corpus));
  const int64_t start = terminal.clock.NowNanos();
  CountWordsOptions options;
  options.tokenizer = flags.corpus.kind();
  options.threads = flags.corpus.threads;
  options.on_progress = TextProgress(terminal);
  FL_ASSIGN_OR_RETURN(CorpusCounts counts, CountWords(files, options));
  const std::string loss = counts.loss.Warning();
  if (counts.total == 0) {
    return InvalidArgument("--data: no words in {} files of {} bytes together{}{}", files.size(),
                           counts.bytes, loss.empty() ? "" : ": ", loss);
  }
  if (!loss.empty()) terminal.log.warn("{}", loss);
  const double rate = MegabytesPerSecond(counts.bytes, start, terminal);
  const size_t distinct = counts.words.size();
  // By the rule of PaddlePaddle's word2vec tutorials, words with exactly min_count occurrences are
  // left out too.
  FL_ASSIGN_OR_RETURN(
      const Vocabulary vocabulary,
      Vocabulary::FromCounts(std::move(counts.words),
                             {.min_count = flags.min_count + 1, .unknown_word = true}));
  FL_RETURN_IF_ERROR(vocabulary.Save(flags.dict));
  terminal.log.info("read {:.1f} MB, {:.0f} MB/s; wrote {} words to {}",
                    static_cast<double>(counts.bytes) * 1e-6, rate, vocabulary.size(), flags.dict);
  const nlohmann::ordered_json json = {
      {"words", counts.total},     {"distinct", distinct},
      {"kept", vocabulary.size()}, {"unknown", vocabulary.count(*vocabulary.unknown())},
      {"bytes", counts.bytes},     {"megabytes_per_second", rate},
      {"dict", flags.dict}};
  if (flags.corpus.json) {
    terminal.out << json.dump() << "\n";
  } else {
    terminal.out << fmt::format(
        "words           {:>12}\ndistinct        {:>12}\nkept            {:>12}\n", counts.total,
        distinct, vocabulary.size());
  }
  return absl::OkStatus();
}

}  // namespace

void AddBuildDictCommand(CLI::App& corpus, Action* action) {
  auto flags = std::make_shared<BuildDictFlags>();
  CLI::App* command = corpus.add_subcommand(
      "build-dict",
      "Counts the words of a corpus and writes the dictionary: lines `word count`, the most "
      "frequent word first, ties in byte order. Rare words are counted together as <UNK>.");
  AddCorpusFlags(*command, &flags->corpus);
  AddTokenizerFlag(*command, &flags->corpus);
  command->add_option("--dict", flags->dict, "File to write the dictionary to")
      ->type_name("FILE")
      ->required();
  AddOption(*command, "--min_count", flags->min_count,
            "Words that occur N times or fewer become <UNK> (the rule of PaddlePaddle's "
            "tutorials; in contrast, `train word2vec` keeps words that occur N times)",
            "N", WholeNumber(0));
  SetAction(*command, action, flags, nullptr, BuildDict);
}

}  // namespace flotilla
