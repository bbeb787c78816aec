#include "flotilla/fleet/word2vec_run.h"

#include <algorithm>
#include <memory>

#include "flotilla/base/stop_signal.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/count_words.h"
#include "flotilla/dataset/id_corpus.h"
#include "flotilla/fleet/model_keeper.h"
#include "flotilla/infer/load_word_model.h"
#include "flotilla/models/word2vec.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/trainer/skipgram_trainer.h"

namespace flotilla {
namespace {

constexpr double kLastRate = 1e-4;  // of the first, at the end of a linear schedule
constexpr int64_t kUsualWords = 30000;

// Vectors to start from, by table name.
using InitTables = std::vector<std::pair<std::string, WordVectors>>;

// One run. Members refer to those above them.
class Run {
 public:
  Run(const Word2VecRunOptions& options, Terminal& terminal)
      : options_(options), terminal_(terminal) {}

  StatusOr<Word2VecResult> All();

 private:
  Status LoadInit();
  Status MakeDictionary();
  Status AddInitWords(std::vector<WordCount> words);
  Status OpenCorpus();
  Status MakeModel();
  Status WriteInit();
  Status TrainEpochs();
  Status Save();
  Status Evaluate();
  StatusOr<WordVectors> Vectors();

  ScheduleSpec ScheduleFor(int64_t steps) const;
  std::function<void(int64_t)> ReadProgress(std::string task);
  void TellEpoch(const SkipgramProgress& progress);
  double Seconds() const { return static_cast<double>(terminal_.clock.NowNanos()) * 1e-9; }

  const Word2VecRunOptions& options_;
  Terminal& terminal_;
  const StopSignal signal_;
  InitTables init_;
  Vocabulary vocabulary_;
  int64_t text_words_ = 0, text_bytes_ = 0;  // as far as a first pass told
  std::unique_ptr<IdCorpus> corpus_;
  std::unique_ptr<WindowSampler> sampler_;
  std::unique_ptr<LocalCommunicator> communicator_;
  Word2VecResult result_;
};

StatusOr<Word2VecResult> Run::All() {
  const double start = Seconds();
  FL_RETURN_IF_ERROR(LoadInit());
  FL_RETURN_IF_ERROR(MakeDictionary());
  result_.vocabulary = vocabulary_.size();
  const double counted = Seconds();
  result_.dictionary_seconds = counted - start;
  FL_RETURN_IF_ERROR(OpenCorpus());
  result_.load_seconds = Seconds() - counted;
  FL_RETURN_IF_ERROR(MakeModel());
  FL_RETURN_IF_ERROR(WriteInit());
  FL_RETURN_IF_ERROR(TrainEpochs());
  const double trained = Seconds();
  FL_RETURN_IF_ERROR(Save());
  result_.save_seconds = Seconds() - trained;
  FL_RETURN_IF_ERROR(Evaluate());
  return std::move(result_);
}

Status Run::LoadInit() {
  if (options_.init_model.empty()) return absl::OkStatus();
  const auto add = [&](const std::string& table, StatusOr<WordVectors> vectors) -> Status {
    if (!vectors.ok()) return Annotate(vectors.status(), "--init_model");
    const int64_t dim = table == kBiasTable ? 1 : options_.dim;
    if (vectors->dim != dim) {
      return InvalidArgument("--init_model: its vectors have {} numbers: say --dim {}",
                             vectors->dim, vectors->dim);
    }
    init_.emplace_back(table, *std::move(vectors));
    return absl::OkStatus();
  };
  FL_RETURN_IF_ERROR(add(kInputTable, OpenWordVectors(options_.init_model)));
  if (!IsModelDir(options_.init_model)) return absl::OkStatus();
  FL_RETURN_IF_ERROR(add(kOutputTable, LoadModelVectors(options_.init_model, kOutputTable)));
  if (!options_.bias) return absl::OkStatus();
  StatusOr<WordVectors> bias = LoadModelVectors(options_.init_model, kBiasTable);
  // A model that was trained without a bias gets one that starts at zero.
  if (bias.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  return add(kBiasTable, std::move(bias));
}

std::function<void(int64_t)> Run::ReadProgress(std::string task) {
  const double start = Seconds();
  return [this, start, task = std::move(task)](int64_t bytes) {
    terminal_.console.Update([&] {
      const double megabytes = static_cast<double>(bytes) * 1e-6;
      const double rate = megabytes / std::max(1e-9, Seconds() - start);
      return TaskMoment{
          .task = task,
          .fields = {{"megabytes", megabytes, fmt::format("{} {:.0f} MB", task, megabytes)},
                     {"megabytes_per_second", rate, fmt::format("{:.0f} MB/s", rate)}}};
    });
  };
}

Status Run::MakeDictionary() {
  if (!options_.dict.empty()) {
    StatusOr<Vocabulary> loaded = Vocabulary::Load(options_.dict);
    if (!loaded.ok()) return Annotate(loaded.status(), "--dict");
    text_words_ = static_cast<int64_t>(loaded->total());
    return AddInitWords(loaded->words());
  }
  CountWordsOptions count;
  count.tokenizer = options_.tokenizer;
  count.threads = options_.threads;
  count.on_progress = ReadProgress("count");
  FL_ASSIGN_OR_RETURN(CorpusCounts counts, CountWords(options_.files, count));
  terminal_.console.EndTask();
  text_words_ = static_cast<int64_t>(counts.total);
  text_bytes_ = counts.bytes;
  if (counts.total == 0) {
    return InvalidArgument("--data: no words in {} files of {} bytes together",
                           options_.files.size(), counts.bytes);
  }
  const size_t distinct = counts.words.size();
  // Words to start from are kept even where they are rare.
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
    return InvalidArgument("--data: none of {} words is seen {} times: say a smaller --min_count",
                           distinct, options_.min_count);
  }
  std::vector<WordCount> words = frequent.words();
  words.insert(words.end(), rare.begin(), rare.end());
  terminal_.log.info("{} words, {} distinct, {} in the dictionary", counts.total, distinct,
                     words.size());
  return AddInitWords(std::move(words));
}

Status Run::AddInitWords(std::vector<WordCount> words) {
  FL_ASSIGN_OR_RETURN(vocabulary_, Vocabulary::FromWords(words));
  if (init_.empty()) return absl::OkStatus();
  const size_t before = words.size();
  for (const WordCount& word : init_[0].second.vocabulary.words()) {
    if (!vocabulary_.Find(word.word)) words.push_back({word.word, 0});
  }
  terminal_.log.info("{} words of {} are not in the text and stay as they are",
                     words.size() - before, options_.init_model);
  FL_ASSIGN_OR_RETURN(vocabulary_, Vocabulary::FromWords(std::move(words)));
  return absl::OkStatus();
}

Status Run::OpenCorpus() {
  IdCorpusOptions corpus;
  corpus.tokenizer = options_.tokenizer;
  corpus.text_is_ids = options_.text_is_ids;
  corpus.threads = options_.threads;
  corpus.on_progress = ReadProgress("read");
  if (options_.in_memory) {
    FL_ASSIGN_OR_RETURN(corpus_, LoadIdCorpus(options_.files, vocabulary_, corpus));
    terminal_.console.EndTask();
  } else {
    corpus_ = StreamIdCorpus(options_.files, vocabulary_, text_words_, text_bytes_, corpus);
  }
  WindowOptions windows = options_.windows;
  windows.seed = options_.seed;
  FL_ASSIGN_OR_RETURN(WindowSampler sampler, WindowSampler::Make(vocabulary_, windows));
  sampler_ = std::make_unique<WindowSampler>(std::move(sampler));
  return absl::OkStatus();
}

ScheduleSpec Run::ScheduleFor(int64_t steps) const {
  double rate = options_.learning_rate;
  if (rate == 0) rate = options_.cbow ? 0.1 : 0.025;
  switch (options_.schedule) {
    case Word2VecRunOptions::Schedule::kLinear:
      return PolynomialDecay(rate, std::max<int64_t>(1, steps), rate * kLastRate);
    case Word2VecRunOptions::Schedule::kExponential:
      return ExponentialDecay(rate, options_.decay_steps, options_.decay_rate, true);
    case Word2VecRunOptions::Schedule::kConstant:
      break;
  }
  return ConstantRate(rate);
}

Status Run::MakeModel() {
  const Model model =
      Word2Vec({.vocabulary = static_cast<int64_t>(vocabulary_.size()),
                .dim = options_.dim,
                .negatives = options_.windows.negatives,
                .bias = options_.bias,
                .cbow = options_.cbow,
                .learning_rate = ScheduleFor(options_.epochs * corpus_->batches())});
  FL_RETURN_IF_ERROR(model.graph.status());
  FL_ASSIGN_OR_RETURN(communicator_, LocalCommunicator::Make(SpecOf(model, options_.seed),
                                                             {.joined = options_.deterministic}));
  return absl::OkStatus();
}

Status Run::WriteInit() {
  for (const auto& [table, vectors] : init_) {
    SparseRows rows;
    rows.dim = vectors.dim;
    for (size_t i = 0; i < vectors.vocabulary.size(); ++i) {
      const auto id = vocabulary_.Find(vectors.vocabulary.word(i));
      if (!id) continue;
      rows.ids.push_back(*id);
      rows.values.insert(rows.values.end(), vectors.row(i), vectors.row(i) + vectors.dim);
    }
    FL_RETURN_IF_ERROR(communicator_->WriteRows(table, rows));
  }
  init_.clear();
  return absl::OkStatus();
}

void Run::TellEpoch(const SkipgramProgress& progress) {
  terminal_.console.Update([&] {
    const double rate = static_cast<double>(progress.words) / std::max(1e-9, progress.seconds);
    const double share = static_cast<double>(progress.words) /
                         static_cast<double>(std::max<int64_t>(1, corpus_->words()));
    return TaskMoment{
        .task = "train",
        .fields = {{"epoch", static_cast<double>(progress.epoch),
                    fmt::format("epoch {}", progress.epoch)},
                   {"words", static_cast<double>(progress.words),
                    fmt::format("{:.0f} % of the words", 100 * std::min(1.0, share)), 2},
                   {"words_per_second", rate, fmt::format("{:.0f} words/s", rate)},
                   {"loss", progress.loss, fmt::format("loss {:.4f}", progress.loss), 1},
                   {"learning_rate", progress.rate, fmt::format("rate {:.5f}", progress.rate), 3}},
        .share = std::min(1.0, share)};
  });
}

Status Run::TrainEpochs() {
  SkipgramOptions skipgram{.workers = options_.threads, .cbow = options_.cbow};
  skipgram.on_progress = [this](const SkipgramProgress& progress) { TellEpoch(progress); };
  skipgram.stop = [this] { return signal_.stopped(); };
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<SkipgramTrainer> trainer,
                      SkipgramTrainer::Make(communicator_.get(), sampler_.get(), &terminal_.clock,
                                            std::move(skipgram)));
  for (int64_t epoch = 0; epoch < options_.epochs && !result_.stopped; ++epoch) {
    FL_ASSIGN_OR_RETURN(const SkipgramReport report, trainer->TrainEpoch(*corpus_, epoch));
    terminal_.console.EndTask();
    result_.words += report.words;
    result_.kept += report.kept;
    result_.train_seconds += report.seconds;
    result_.loss = report.loss;
    result_.stopped = report.stopped;
    terminal_.log.info("epoch {} {}, use time={:.2f}, {:.0f} words/s, loss={:.4f}", epoch,
                       report.stopped ? "stopped" : "finished", report.seconds,
                       static_cast<double>(report.words) / report.seconds, report.loss);
  }
  if (result_.stopped) terminal_.exit_code = signal_.exit_code();
  result_.steps = communicator_->global_step();
  return absl::OkStatus();
}

StatusOr<WordVectors> Run::Vectors() {
  FL_ASSIGN_OR_RETURN(const Tensor rows, communicator_->ReadParameter(kInputTable));
  return WordVectors{.vocabulary = vocabulary_,
                     .dim = options_.dim,
                     .values = {rows.data.begin(), rows.data.end()}};
}

Status Run::Save() {
  if (!options_.save_dict.empty()) {
    FL_RETURN_IF_ERROR(Annotate(vocabulary_.Save(options_.save_dict), "--save_dict"));
  }
  if (!options_.vectors.empty()) {
    FL_ASSIGN_OR_RETURN(const WordVectors vectors, Vectors());
    FL_RETURN_IF_ERROR(
        Annotate(SaveVectors(vectors, options_.vectors_format, options_.vectors), "--vectors"));
  }
  if (options_.out.empty()) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<ModelKeeper> keeper,
                      ModelKeeper::Make(communicator_.get(), {.dir = options_.out}));
  Sections sections;
  sections[kDictionarySection] = DictionaryText(vocabulary_);
  FL_RETURN_IF_ERROR(
      keeper->Begin(fmt::format("epoch_{}", options_.epochs - 1), true, std::move(sections)));
  return Annotate(keeper->Wait(), "--out");
}

Status Run::Evaluate() {
  if (options_.questions.empty() && options_.pairs.empty()) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(const WordVectors vectors, Vectors());
  if (!options_.questions.empty()) {
    FL_ASSIGN_OR_RETURN(const std::vector<AnalogySection> sections,
                        LoadAnalogies(options_.questions));
    AnalogyOptions analogy{.words = kUsualWords, .threads = options_.threads};
    result_.analogy = ScoreAnalogies(vectors, sections, analogy);
    analogy.words = 0;
    result_.analogy_all = ScoreAnalogies(vectors, sections, analogy);
    analogy.normalize = false;
    analogy.unknown_word = true;
    result_.analogy_original = ScoreAnalogies(vectors, sections, analogy);
  }
  for (const std::string& path : options_.pairs) {
    FL_ASSIGN_OR_RETURN(const std::vector<WordPair> pairs, LoadWordPairs(path));
    result_.similarity.emplace_back(path, ScoreSimilarity(vectors, pairs));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<Word2VecResult> RunWord2Vec(const Word2VecRunOptions& options, Terminal& terminal) {
  return Run(options, terminal).All();
}

}  // namespace flotilla
