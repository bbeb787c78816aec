#include "flotilla/corpus/id_corpus.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "flotilla/base/parse_number.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/corpus/ordered_blocks.h"

namespace flotilla {
namespace {

// Bytes per word, including the blank, in English text: an estimate when nothing better is known.
constexpr int64_t kBytesOfWord = 6;

// Turns text blocks into ids. Thread-safe.
class BlockToIds {
 public:
  BlockToIds(const std::vector<std::string>& files, const Vocabulary& vocabulary,
             const IdCorpusOptions& options)
      : files_(files),
        vocabulary_(vocabulary),
        unknown_(options.drop_unknown ? std::nullopt : vocabulary.unknown()),
        kind_(options.text_is_ids ? TokenizerKind::kWhitespace : options.tokenizer),
        text_is_ids_(options.text_is_ids) {}

  Status Run(const TextBlock& block, std::vector<uint32_t>* ids, int64_t* words) const {
    ids->clear();
    *words = 0;
    int64_t line = block.line;
    Status error;
    const auto end_sentence = [&] {
      if (!ids->empty() && ids->back() != kSentenceEnd) ids->push_back(kSentenceEnd);
    };
    const auto on_word = [&](std::string_view word) {
      ++*words;
      std::optional<uint32_t> id = text_is_ids_ ? ParseId(word) : vocabulary_.Find(word);
      if (!id && text_is_ids_ && error.ok()) error = BadId(word, block.file, line);
      if (!id) id = unknown_;
      if (id) ids->push_back(*id);
    };
    const auto on_line_end = [&] {
      end_sentence();
      ++line;
    };
    Tokenize(kind_, block.text, on_word, on_line_end);
    end_sentence();
    return error;
  }

 private:
  std::optional<uint32_t> ParseId(std::string_view word) const {
    const std::optional<uint32_t> id = ParseWhole<uint32_t>(word);
    return id && *id < vocabulary_.size() ? id : std::nullopt;
  }
  Status BadId(std::string_view word, int file, int64_t line) const {
    return InvalidArgument("{}:{}: expected ids below {}, the words of the dictionary, found '{}'",
                           files_[file], line, vocabulary_.size(), word.substr(0, 40));
  }

  const std::vector<std::string> files_;
  const Vocabulary& vocabulary_;
  const std::optional<uint32_t> unknown_;
  const TokenizerKind kind_;
  const bool text_is_ids_;
};

// Selects the blocks that belong to a part, and computes the ordinals of its batches.
class BlockShare {
 public:
  explicit BlockShare(const IdCorpusOptions& options)
      : part_(options.part), parts_(options.parts), share_blocks_(options.share_blocks) {
    FL_CHECK(parts_ >= 1 && part_ >= 0 && part_ < parts_);
  }
  bool Has(const TextBlock& block) const {
    return !share_blocks_ || block.ordinal % parts_ == part_;
  }
  // Ordinal of the batch with this number within the part.
  int64_t OrdinalOf(int64_t batch) const { return batch * parts_ + part_; }
  int64_t OrdinalOf(const TextBlock& block) const {
    return share_blocks_ ? block.ordinal : OrdinalOf(block.ordinal);
  }
  int64_t parts() const { return parts_; }

 private:
  const int64_t part_, parts_;
  const bool share_blocks_;
};

class MemoryIds : public IdCorpus {
 public:
  // `given`, if not empty, are the ids; otherwise Append adds them.
  explicit MemoryIds(const BlockShare& share, std::span<const uint32_t> given = {})
      : share_(share), given_(given) {}

  int64_t words() const override { return words_; }
  int64_t batches() const override { return static_cast<int64_t>(parts_.size()); }
  Status StartEpoch(int64_t skipped) override {
    next_ = skipped;
    return absl::OkStatus();
  }
  int64_t position() const override { return std::min(next_.load(), batches()); }

  StatusOr<bool> Next(IdBatch* batch) override {
    const auto ordinal = static_cast<size_t>(next_.fetch_add(1, std::memory_order_relaxed));
    if (ordinal >= parts_.size()) return false;
    const size_t begin = ordinal == 0 ? 0 : parts_[ordinal - 1].end;
    batch->ordinal = share_.OrdinalOf(static_cast<int64_t>(ordinal));
    batch->words = parts_[ordinal].words;
    const std::span<const uint32_t> all = given_.empty() ? std::span(ids_) : given_;
    batch->ids = all.subspan(begin, parts_[ordinal].end - begin);
    return true;
  }

  void Append(std::span<const uint32_t> ids, int64_t words) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    AddBatch(ids_.size(), words);
  }
  // The batch after the last one, up to `end` of the ids.
  void AddBatch(size_t end, int64_t words) {
    parts_.push_back({end, words});
    words_ += words;
  }

 private:
  struct Part {
    size_t end;  // in the ids
    int64_t words;
  };
  const BlockShare share_;
  const std::span<const uint32_t> given_;
  std::vector<uint32_t> ids_;
  std::vector<Part> parts_;  // one for each batch
  int64_t words_ = 0;
  std::atomic<int64_t> next_ = 0;
};

class StreamIds : public IdCorpus {
 public:
  StreamIds(const std::vector<std::string>& files, const Vocabulary& vocabulary, int64_t words,
            int64_t bytes, const IdCorpusOptions& options)
      : to_ids_(files, vocabulary, options),
        share_(options),
        words_(words / share_.parts()),
        batches_(1 + (bytes > 0 ? bytes : words * kBytesOfWord) / share_.parts() /
                         static_cast<int64_t>(options.blocks.block_bytes)),
        blocks_(files, options.blocks) {}

  int64_t words() const override { return words_; }
  int64_t batches() const override { return batches_; }
  Status StartEpoch(int64_t skipped) override {
    batches_ = std::max(batches_, seen_.exchange(0));
    blocks_.Rewind();
    TextBlock block;
    while (seen_ < skipped) {
      FL_ASSIGN_OR_RETURN(const bool any, blocks_.Next(&block));
      if (!any) break;
      if (share_.Has(block)) ++seen_;
    }
    return absl::OkStatus();
  }
  int64_t position() const override { return seen_; }

  StatusOr<bool> Next(IdBatch* batch) override {
    do {
      FL_ASSIGN_OR_RETURN(const bool any, blocks_.Next(&batch->block));
      if (!any) return false;
    } while (!share_.Has(batch->block));
    batch->ordinal = share_.OrdinalOf(batch->block);
    FL_RETURN_IF_ERROR(to_ids_.Run(batch->block, &batch->storage, &batch->words));
    batch->ids = batch->storage;
    seen_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

 private:
  const BlockToIds to_ids_;
  const BlockShare share_;
  const int64_t words_;
  int64_t batches_;
  std::atomic<int64_t> seen_ = 0;  // batches of this epoch
  TextBlocks blocks_;
};

}  // namespace

StatusOr<std::unique_ptr<IdCorpus>> LoadIdCorpus(const std::vector<std::string>& files,
                                                 const Vocabulary& vocabulary,
                                                 const IdCorpusOptions& options) {
  struct Ids {
    std::vector<uint32_t> ids;
    int64_t words = 0;
  };
  const BlockToIds to_ids(files, vocabulary, options);
  const BlockShare share(options);
  auto corpus = std::make_unique<MemoryIds>(share);
  TextBlocks blocks(files, options.blocks);
  WorkerPool pool(options.threads);
  FL_RETURN_IF_ERROR(ProcessInOrder<Ids>(
      blocks, pool,
      [&](int /*worker*/, const TextBlock& block, Ids* ids) {
        if (options.on_progress) options.on_progress(blocks.bytes());
        if (!share.Has(block)) return absl::OkStatus();
        return to_ids.Run(block, &ids->ids, &ids->words);
      },
      [&](const TextBlock& block, const Ids& ids) {
        if (share.Has(block)) corpus->Append(ids.ids, ids.words);
        return absl::OkStatus();
      }));
  return corpus;
}

StatusOr<std::unique_ptr<IdCorpus>> GivenIdCorpus(std::span<const uint32_t> ids, size_t words,
                                                  int64_t batch_words) {
  FL_CHECK(batch_words >= 1);
  if (!ids.empty() && ids.back() != kSentenceEnd) {
    return InvalidArgument("the last of {} ids is not the end of a sentence", ids.size());
  }
  auto corpus = std::make_unique<MemoryIds>(BlockShare({}), ids);
  int64_t in_batch = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kSentenceEnd) {
      const bool last = i + 1 == ids.size();
      if (in_batch < batch_words && !last) continue;
      corpus->AddBatch(i + 1, std::exchange(in_batch, 0));
    } else if (ids[i] >= words) {
      return InvalidArgument("id {} at position {}: the dictionary has {} words", ids[i], i, words);
    } else {
      ++in_batch;
    }
  }
  return corpus;
}

std::unique_ptr<IdCorpus> StreamIdCorpus(const std::vector<std::string>& files,
                                         const Vocabulary& vocabulary, int64_t words, int64_t bytes,
                                         const IdCorpusOptions& options) {
  return std::make_unique<StreamIds>(files, vocabulary, words, bytes, options);
}

}  // namespace flotilla
