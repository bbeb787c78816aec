#include "flotilla/run/word2vec_data.h"

#include <unistd.h>

#include <algorithm>

#include "flotilla/corpus/count_words.h"
#include "flotilla/dataset/file_list.h"
#include "flotilla/infer/load_word_model.h"
#include "flotilla/run/run_dir.h"
#include "flotilla/trainer/skipgram_tables.h"

namespace flotilla {
namespace {

double SecondsOf(const Terminal& terminal) {
  return static_cast<double>(terminal.clock.NowNanos()) * 1e-9;
}

}  // namespace

Status Word2VecData::MakeDictionary() {
  if (host_ != nullptr) {
    FL_RETURN_IF_ERROR(SetWords(host_->words));
    text_words_ = static_cast<int64_t>(vocabulary_.total());
    return absl::OkStatus();
  }
  FL_ASSIGN_OR_RETURN(const std::optional<Vocabulary> resumed, Resumed());
  if (!resumed) FL_RETURN_IF_ERROR(LoadInit());
  if (resumed && options_.dict.empty()) {
    text_words_ = static_cast<int64_t>(resumed->total());
    return SetWords(resumed->words());
  }
  if (options_.dict.empty()) return CountText();
  StatusOr<Vocabulary> loaded = Vocabulary::Load(options_.dict);
  if (!loaded.ok()) return Annotate(loaded.status(), "--dict");
  text_words_ = static_cast<int64_t>(loaded->total());
  return SetWords(loaded->words());
}

StatusOr<std::optional<Vocabulary>> Word2VecData::Resumed() const {
  if (!options_.keep.resume) return std::nullopt;
  FL_ASSIGN_OR_RETURN(const std::string dir,
                      FindResumed(options_.keep.out, [](std::string_view /*line*/) {}));
  if (dir.empty()) return std::nullopt;
  StatusOr<Vocabulary> vocabulary = LoadModelDictionary(dir);
  if (!vocabulary.ok()) return Annotate(vocabulary.status(), "--resume");
  return *std::move(vocabulary);
}

Status Word2VecData::LoadInit() {
  if (options_.init_vectors.empty()) return absl::OkStatus();
  FL_RETURN_IF_ERROR(AddInit(kInputTable, OpenWordVectors(options_.init_vectors)));
  if (!IsModelDir(options_.init_vectors)) return absl::OkStatus();
  FL_RETURN_IF_ERROR(AddInit(kOutputTable, LoadModelVectors(options_.init_vectors, kOutputTable)));
  if (!options_.bias) return absl::OkStatus();
  StatusOr<WordVectors> bias = LoadModelVectors(options_.init_vectors, kBiasTable);
  // A model that was trained without a bias gets a bias that starts at zero.
  if (bias.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  return AddInit(kBiasTable, std::move(bias));
}

Status Word2VecData::AddInit(const std::string& table, StatusOr<WordVectors> vectors) {
  if (!vectors.ok()) return Annotate(vectors.status(), "--init_model");
  const int64_t dim = table == kBiasTable ? 1 : options_.dim;
  if (vectors->dim != dim) {
    return InvalidArgument("--init_model: its vectors have {} numbers: use --dim {}", vectors->dim,
                           vectors->dim);
  }
  init_.emplace_back(table, *std::move(vectors));
  return absl::OkStatus();
}

Status Word2VecData::CountText() {
  CountWordsOptions count;
  count.tokenizer = options_.tokenizer;
  count.threads = options_.threads;
  count.blocks.source.interrupt = interrupt_;
  count.on_progress = ReadProgress("count");
  FL_ASSIGN_OR_RETURN(CorpusCounts counts, CountWords(options_.files, count));
  terminal_.console.EndTask();
  text_words_ = static_cast<int64_t>(counts.total);
  text_bytes_ = counts.bytes;
  const std::string loss = counts.loss.Warning();
  if (counts.total == 0) {
    return InvalidArgument("--data: no words in {} files of {} bytes together{}{}",
                           options_.files.size(), counts.bytes, loss.empty() ? "" : ": ", loss);
  }
  if (!loss.empty()) terminal_.log.warn("{}", loss);
  if (counts.repaired > 0) {
    terminal_.log.warn(
        "--data: {:.2g} % of the words ({} of {}) have bytes that are not UTF-8 and become U+FFFD, "
        "the first at {}: convert the text, for example with iconv -f LATIN1 -t UTF-8",
        100 * static_cast<double>(counts.repaired) / static_cast<double>(counts.total),
        counts.repaired, counts.total, counts.first_repaired);
  }
  const size_t distinct = counts.words.size();
  // Words of --init_model are kept even if they are rare.
  std::vector<WordCount> rare;
  if (!init_.empty()) {
    const Vocabulary& known = init_[0].second.vocabulary;
    for (const WordCount& word : counts.words) {
      if (word.count < options_.min_count && known.Find(word.word)) rare.push_back(word);
    }
  }
  FL_ASSIGN_OR_RETURN(
      const Vocabulary frequent,
      Vocabulary::FromCounts(std::move(counts.words), {.min_count = options_.min_count}));
  if (frequent.size() + rare.size() == 0) {
    return InvalidArgument("--data: none of {} words occurs {} times: use a smaller --min_count",
                           distinct, options_.min_count);
  }
  std::vector<WordCount> words = frequent.words();
  words.insert(words.end(), rare.begin(), rare.end());
  terminal_.log.info("{} words, {} distinct, {} in the dictionary", counts.total, distinct,
                     words.size());
  return SetWords(std::move(words));
}

Status Word2VecData::SetWords(std::vector<WordCount> words) {
  FL_ASSIGN_OR_RETURN(vocabulary_, Vocabulary::FromWords(words));
  if (init_.empty()) return absl::OkStatus();
  const size_t before = words.size();
  for (const WordCount& word : init_[0].second.vocabulary.words()) {
    if (!vocabulary_.Find(word.word)) words.push_back({word.word, 0});
  }
  terminal_.log.info("{} words of {} are not in the text and keep their vectors",
                     words.size() - before, options_.init_vectors);
  FL_ASSIGN_OR_RETURN(vocabulary_, Vocabulary::FromWords(std::move(words)));
  return absl::OkStatus();
}

bool Word2VecData::ChooseMemory() {
  if (options_.in_memory) return *options_.in_memory;
  const double bytes = static_cast<double>(text_words_) * sizeof(uint32_t);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes <= memory / 4) return true;
  terminal_.log.info(
      "text is read again in every epoch: its ids would take {:.1f} of {:.1f} GB of memory; "
      "--in_memory keeps them in memory",
      bytes * 1e-9, memory * 1e-9);
  return false;
}

Status Word2VecData::OpenCorpus(int trainer, int trainers) {
  if (host_ != nullptr && !host_->ids.empty()) {
    FL_ASSIGN_OR_RETURN(corpus_, GivenIdCorpus(host_->ids, vocabulary_.size(), host_->batch_words));
    return absl::OkStatus();
  }
  std::vector<std::string> files = options_.files;
  if (!options_.share_blocks && options_.fleet.split_files) {
    files = SplitFiles(files, trainers, trainer);
  }
  IdCorpusOptions corpus;
  corpus.tokenizer = options_.tokenizer;
  corpus.drop_unknown = options_.drop_unknown;
  corpus.text_is_ids = options_.text_is_ids;
  corpus.threads = options_.threads;
  corpus.blocks.source.interrupt = interrupt_;
  corpus.part = trainer;
  corpus.parts = trainers;
  corpus.share_blocks = options_.share_blocks;
  corpus.on_progress = ReadProgress("read");
  in_memory_ = ChooseMemory();
  if (!in_memory_) {
    corpus_ = StreamIdCorpus(files, vocabulary_, text_words_, text_bytes_, corpus);
    return absl::OkStatus();
  }
  FL_ASSIGN_OR_RETURN(corpus_, LoadIdCorpus(files, vocabulary_, corpus));
  terminal_.console.EndTask();
  return absl::OkStatus();
}

std::function<void(int64_t)> Word2VecData::ReadProgress(std::string task) {
  const double start = SecondsOf(terminal_);
  return [this, start, task = std::move(task)](int64_t bytes) {
    terminal_.console.Update([&] {
      const double megabytes = static_cast<double>(bytes) * 1e-6;
      const double rate = megabytes / std::max(1e-9, SecondsOf(terminal_) - start);
      return TaskMoment{
          .task = task,
          .fields = {{"megabytes", megabytes, fmt::format("{} {:.0f} MB", task, megabytes)},
                     {"megabytes_per_second", rate, fmt::format("{:.0f} MB/s", rate)}}};
    });
  };
}

}  // namespace flotilla
