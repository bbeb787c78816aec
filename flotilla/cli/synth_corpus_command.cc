#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/base/output_file.h"
#include "flotilla/base/parallel_for.h"
#include "flotilla/base/staged_dir.h"
#include "flotilla/cli/commands.h"
#include "flotilla/cli/source_flags.h"
#include "flotilla/corpus/synth_corpus.h"
#include "flotilla/dataset/prepare/part_writer.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/run/task_progress.h"

namespace flotilla {
namespace {

constexpr uint64_t kPartBlocks = 100;
constexpr uint64_t kPartWords = kPartBlocks * SynthCorpus::kBlockWords;

struct SynthCorpusFlags {
  uint64_t words = 0;
  std::string out;
  SynthCorpusOptions synth;
  int threads = 1;
  bool json = false;
};

// Writes words [begin, end) of the corpus; begin is the first of a block.
Status WritePart(const SynthCorpus& corpus, std::string path, uint64_t begin, uint64_t end,
                 const std::function<void(uint64_t words)>& on_words) {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(std::move(path)));
  std::string text;
  for (uint64_t word = begin; word < end; word += SynthCorpus::kBlockWords) {
    const uint64_t words = std::min(end - word, SynthCorpus::kBlockWords);
    text.clear();
    corpus.Block(word / SynthCorpus::kBlockWords, words, &text);
    FL_RETURN_IF_ERROR(file.Write(text));
    on_words(words);
  }
  return file.Finish();
}

Status Synthesize(const SynthCorpusFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const SynthCorpus corpus, SynthCorpus::Make(flags.synth));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<StagedDir> staged, StagedDir::Make(flags.out));
  const std::string directory = staged->path() + "/corpus";
  FL_RETURN_IF_ERROR(MakeEmptyDirectory(directory));
  TaskProgress progress(terminal, "words");
  std::atomic<uint64_t> done = 0;
  auto on_words = [&](uint64_t words) {
    const uint64_t all = done += words;
    progress.Update(static_cast<int64_t>(all),
                    static_cast<double>(all) / static_cast<double>(flags.words), "make");
  };
  const uint64_t parts = (flags.words + kPartWords - 1) / kPartWords;
  FL_RETURN_IF_ERROR(ParallelFor(flags.threads, parts, [&](uint64_t part) {
    return WritePart(corpus, directory + "/" + PartName(static_cast<int64_t>(part)),
                     part * kPartWords, std::min((part + 1) * kPartWords, flags.words), on_words);
  }));
  FL_RETURN_IF_ERROR(WriteFile(staged->path() + "/questions-words.txt", corpus.Questions()));
  FL_RETURN_IF_ERROR(staged->Publish());
  const double rate = static_cast<double>(flags.words) / progress.Seconds();
  if (flags.json) {
    const nlohmann::ordered_json json = {{"words", flags.words},
                                         {"vocabulary", corpus.words()},
                                         {"questions", corpus.QuestionCount()},
                                         {"seed", flags.synth.seed},
                                         {"seconds", progress.Seconds()},
                                         {"words_per_second", rate}};
    terminal.out << json.dump() << "\n";
    return absl::OkStatus();
  }
  terminal.out << fmt::format("{:<14}{:>12}\n{:<14}{:>12}\n{:<14}{:>12}\n{:<14}{:>12.0f}\n",
                              "words", flags.words, "vocabulary", corpus.words(), "questions",
                              corpus.QuestionCount(), "words/s", rate);
  return absl::OkStatus();
}

Status CheckSynth(SynthCorpusFlags* flags) { return SynthCorpus::Make(flags->synth).status(); }

void AddSynthFlags(CLI::App& command, SynthCorpusFlags& flags) {
  command.add_option("--words", flags.words, "Number of words of text")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->required();
  command
      .add_option("--out", flags.out,
                  "Directory for corpus/part-000000.. and questions-words.txt; it must be empty or "
                  "not exist")
      ->type_name("DIR")
      ->required();
  AddOption(command, "--seed", flags.synth.seed, "Seed of the text", "N", WholeNumber(0));
  AddOption(command, "--relations", flags.synth.relations, "Number of relations between words", "N",
            WholeNumber(1));
  AddOption(command, "--pairs", flags.synth.pairs, "Word pairs per relation", "N", WholeNumber(2));
  AddOption(command, "--vocabulary", flags.synth.vocabulary,
            "Number of distinct background words, whose frequencies follow Zipf's law", "N",
            WholeNumber(1));
  AddThreadsFlag(command, &flags.threads,
                 "Threads that generate text; the files do not depend on it.");
  command.add_flag("--json", flags.json, "Print the results as one JSON object");
}

}  // namespace

void AddSynthCorpusCommand(CLI::App& synth, Action* action) {
  auto flags = std::make_shared<SynthCorpusFlags>();
  CLI::App* command = synth.add_subcommand(
      "corpus",
      "Generates text with known relations between words, one sentence per line, and the analogy "
      "questions that word vectors trained on it should answer, in the format of "
      "questions-words.txt.");
  AddSynthFlags(*command, *flags);
  SetAction(*command, action, flags, CheckSynth, Synthesize);
}

}  // namespace flotilla
