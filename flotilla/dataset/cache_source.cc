#include "flotilla/dataset/cache_source.h"
#include "flotilla/dataset/file_slice.h"

#include <algorithm>
#include <utility>

namespace flotilla {
namespace {

class CacheChunk : public PackedChunk {
 public:
  // Rows [begin, end) of one file.
  struct Span {
    size_t index;
    std::shared_ptr<const CacheFile> file;
    int64_t begin, end;
  };

  CacheChunk(CacheStore* store, std::span<const InputSpec> inputs)
      : PackedChunk(inputs), store_(store), fields_(inputs.size()) {}

  Status AppendAll(EpochLedger* /*ledger*/, Batch* batch) override {
    for (const Span& span : spans) FL_RETURN_IF_ERROR(Unpack(span, batch));
    return absl::OkStatus();
  }
  Status Index() override {
    Batch batch{.fields = std::vector<Field>(fields_)};
    for (const Span& span : spans) {
      for (int64_t begin = span.begin; begin < span.end; begin += kCacheBlockRows) {
        batch.Clear();
        const int64_t end = std::min(begin + kCacheBlockRows, span.end);
        FL_RETURN_IF_ERROR(Unpack({span.index, span.file, begin, end}, &batch));
        FL_RETURN_IF_ERROR(rows.Add(batch));
      }
    }
    return absl::OkStatus();
  }

  std::vector<Span> spans;

 private:
  Status Unpack(const Span& span, Batch* batch) {
    const int64_t rows_before = batch->rows;
    const Status status = span.file->Append(span.begin, span.end, batch);
    if (status.code() != absl::StatusCode::kDataLoss) return status;
    FL_ASSIGN_OR_RETURN(const std::shared_ptr<const CacheFile> file,
                        store_->Replace(span.index, span.file, status));
    return file->Append(span.begin + batch->rows - rows_before, span.end, batch);
  }

  CacheStore* const store_;
  const size_t fields_;
};

class CacheSource : public RowSource {
 public:
  CacheSource(std::unique_ptr<CacheStore> store, std::vector<InputSpec> inputs)
      : store_(std::move(store)), inputs_(std::move(inputs)) {}

  Status Start(int64_t epoch) override {
    store_->Close();
    return Seek(epoch, {.line = 0});
  }
  Status Seek(int64_t /*epoch*/, const Place& place) override {
    if (place.file > static_cast<int64_t>(store_->sources().size())) {
      return FailedPrecondition("position: belongs to other files");
    }
    file_ = static_cast<size_t>(place.file);
    row_ = place.line;
    counted_files_ = static_cast<size_t>(place.offset);
    return absl::OkStatus();
  }
  Place place() const override {
    return {.file = static_cast<int64_t>(file_),
            .line = row_,
            .offset = static_cast<int64_t>(counted_files_)};
  }
  NameRows name_rows() const override {
    return NamesInFiles(WholeFiles(store_->sources()), {.unit = "row", .shift = 1});
  }
  std::unique_ptr<RowChunk> MakeChunk() const override {
    return std::make_unique<CacheChunk>(store_.get(), inputs_);
  }
  StatusOr<Taken> Take(int64_t count, EpochLedger* ledger, RowChunk* chunk) override {
    Taken taken{.begin = place()};
    const std::vector<CacheChunk::Span>& spans = static_cast<CacheChunk*>(chunk)->spans;
    const Status status = TakeSpans(count, ledger, static_cast<CacheChunk*>(chunk), &taken.rows);
    taken.begin.offset = static_cast<int64_t>(counted_files_);
    if (status.ok() && !spans.empty()) {
      taken.first = {static_cast<int64_t>(spans.front().index), spans.front().begin};
      taken.end = {static_cast<int64_t>(spans.back().index), spans.back().end};
    }
    if (status.ok()) return taken;
    FL_RETURN_IF_ERROR(Seek(0, taken.begin));
    return status;
  }

 private:
  Status TakeSpans(int64_t count, EpochLedger* ledger, CacheChunk* chunk, int64_t* taken) {
    chunk->spans.clear();
    while (*taken < count && file_ < store_->sources().size()) {
      FL_ASSIGN_OR_RETURN(std::shared_ptr<const CacheFile> file, store_->Get(file_));
      if (row_ > file->rows()) {
        return FailedPrecondition("{}: has {} rows, cannot resume at row {}",
                                  store_->sources()[file_], file->rows(), row_);
      }
      if (file_ >= counted_files_) {
        FL_RETURN_IF_ERROR(ledger->SkipBadRows(file->skipped(), file->samples()));
        counted_files_ = file_ + 1;
      }
      const int64_t end = std::min(row_ + count - *taken, file->rows());
      *taken += end - row_;
      if (end > row_) chunk->spans.push_back({file_, file, row_, end});
      row_ = end;
      if (end == file->rows()) {
        ++file_;
        row_ = 0;
      }
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<CacheStore> store_;  // thread-safe
  const std::vector<InputSpec> inputs_;
  // The next row, as file and row in it.
  size_t file_ = 0;
  int64_t row_ = 0;
  size_t counted_files_ = 0;  // files whose bad rows are counted
};

}  // namespace

std::unique_ptr<RowSource> MakeCacheSource(std::unique_ptr<CacheStore> store,
                                           std::vector<InputSpec> inputs) {
  return std::make_unique<CacheSource>(std::move(store), std::move(inputs));
}

}  // namespace flotilla
