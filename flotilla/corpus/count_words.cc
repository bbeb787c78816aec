#include "flotilla/corpus/count_words.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <utility>

#include "flotilla/base/worker_pool.h"
#include "flotilla/corpus/word_table.h"

namespace flotilla {
namespace {

// Counts the words of one text, each with a delay of a few words: by then its slot, which is not in
// the caches for a rare word, has been prefetched.
class LaggingCounter {
 public:
  LaggingCounter(std::string_view text, WordTable* counts) : text_(text), counts_(counts) {}
  ~LaggingCounter() {
    for (size_t i = 0; i < kLag; ++i) Count(ring_[i]);
  }

  void Add(std::string_view word) {
    // A word that had to be changed is in a scratch buffer that is soon overwritten.
    if (word.data() < text_.data() || word.data() >= text_.data() + text_.size()) {
      ++(*counts_)[word];
      return;
    }
    Seen& seen = ring_[next_++ % kLag];
    Count(seen);
    seen = {word, counts_->Prefetch(word)};
  }

 private:
  static constexpr size_t kLag = 8;
  struct Seen {
    std::string_view word;
    WordTable::Key key;
  };

  void Count(const Seen& seen) {
    if (!seen.word.empty()) ++counts_->At(seen.key, seen.word);
  }

  const std::string_view text_;
  WordTable* const counts_;
  size_t next_ = 0;
  Seen ring_[kLag] = {};
};

// Size of the sample of each block that is checked for lost letters: costs a few percent of the
// time.
constexpr size_t kLossSample = size_t{1} << 16;

// Words that had to be changed to be UTF-8, and where the first of them is.
struct Repaired {
  uint64_t words = 0;
  int64_t ordinal = 0;  // of the block
  int file = 0;
  int64_t line = 0;

  void Add(const TextBlock& block, int64_t line_of_block) {
    // The blocks of a thread ascend.
    if (words++ == 0) {
      *this = {.words = 1,
               .ordinal = block.ordinal,
               .file = block.file,
               .line = block.line + line_of_block};
    }
  }
  void Merge(const Repaired& other) {
    const uint64_t both = words + other.words;
    if (words == 0 || (other.words > 0 && other.ordinal < ordinal)) *this = other;
    words = both;
  }
};

bool IsIn(std::string_view word, std::string_view text) {
  return word.data() >= text.data() && word.data() < text.data() + text.size();
}

Status CountBlocks(const CountWordsOptions& options, TextBlocks* blocks, WordTable* counts,
                   LetterLoss* loss, int64_t* lines, Repaired* repaired) {
  const bool as_it_is = options.tokenizer == TokenizerKind::kWhitespace;
  TextBlock block;
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool any, blocks->Next(&block));
    if (!any) return absl::OkStatus();
    if (options.tokenizer == TokenizerKind::kEnglish) {
      loss->Count(std::string_view(block.text).substr(0, kLossSample));
    }
    LaggingCounter counter(block.text, counts);
    const int64_t before = *lines;
    Tokenize(
        options.tokenizer, block.text,
        [&](std::string_view word) {
          if (as_it_is && !IsIn(word, block.text)) repaired->Add(block, *lines - before);
          counter.Add(word);
        },
        [&] { ++*lines; });
    if (options.on_progress) options.on_progress(blocks->bytes());
  }
}

// Collects the words of one range of hashes from the tables of all threads.
std::vector<WordCount> MergePart(const std::vector<WordTable>& tables, uint64_t part) {
  WordTable merged;
  for (const WordTable& table : tables) {
    table.ForEach([&](std::string_view word, uint64_t hash, uint64_t count) {
      // The low bits select the slot within a table.
      if ((hash >> 32) % tables.size() == part) merged[word] += count;
    });
  }
  std::vector<WordCount> words;
  words.reserve(merged.size());
  merged.ForEach([&](std::string_view word, uint64_t /*hash*/, uint64_t count) {
    words.push_back({std::string(word), count});
  });
  return words;
}

}  // namespace

StatusOr<CorpusCounts> CountWords(const std::vector<std::string>& files,
                                  const CountWordsOptions& options) {
  TextBlocks blocks(files, options.blocks);
  WorkerPool pool(options.threads);
  const auto threads = static_cast<size_t>(options.threads);
  std::vector<WordTable> tables(threads);
  std::vector<Status> errors(threads);
  std::vector<LetterLoss> losses(threads);
  std::vector<int64_t> lines(threads, 0);
  std::vector<Repaired> repaired(threads);
  pool.Run([&](int w) {
    int64_t seen = 0;
    errors[w] = CountBlocks(options, &blocks, &tables[w], &losses[w], &seen, &repaired[w]);
    lines[w] = seen;
  });
  for (const Status& error : errors) FL_RETURN_IF_ERROR(error);
  std::vector<std::vector<WordCount>> parts(threads);
  pool.Run([&](int w) { parts[w] = MergePart(tables, static_cast<uint64_t>(w)); });
  CorpusCounts result{.bytes = blocks.bytes()};
  for (const LetterLoss& loss : losses) result.loss.Add(loss);
  for (const int64_t of_one : lines) result.lines += of_one;
  Repaired all;
  for (const Repaired& of_one : repaired) all.Merge(of_one);
  result.repaired = all.words;
  if (all.words > 0) result.first_repaired = fmt::format("{}:{}", files[all.file], all.line);
  for (std::vector<WordCount>& part : parts) {
    for (const WordCount& word : part) result.total += word.count;
    result.words.insert(result.words.end(), std::make_move_iterator(part.begin()),
                        std::make_move_iterator(part.end()));
  }
  return result;
}

}  // namespace flotilla
