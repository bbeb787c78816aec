#include "flotilla/dataset/position.h"

#include <iterator>
#include <optional>

#include "flotilla/base/parse_number.h"

namespace flotilla {
namespace {

constexpr std::string_view kHead = "flotilla-position/1";
constexpr char kNextPart = ';';
constexpr std::string_view kEnded = "ended";  // in place of the places

// Removes and returns the front of `text` up to `separator`, or all of it when there is none.
std::string_view CutFront(std::string_view* text, char separator) {
  const size_t place = text->find(separator);
  const std::string_view front = text->substr(0, place);
  *text = place == std::string_view::npos ? std::string_view() : text->substr(place + 1);
  return front;
}

template <typename T>
Status ReadNumber(std::string_view word, T* value) {
  const std::optional<T> number = ParseWhole<T>(word);
  if (!number) return InvalidArgument("position: expected a number, found '{}'", word);
  *value = *number;
  return absl::OkStatus();
}

template <typename T>
Status ReadNamed(std::string_view name, std::string_view* text, T* value) {
  std::string_view word = CutFront(text, ' ');
  if (CutFront(&word, '=') != name) return InvalidArgument("position: '{}=' is missing", name);
  return ReadNumber(word, value);
}

Status ReadPlace(std::string_view text, DatasetPosition::Place* place) {
  for (int64_t* value : {&place->file, &place->line, &place->offset, &place->batch, &place->next}) {
    FL_RETURN_IF_ERROR(ReadNumber(CutFront(&text, ':'), value));
    if (*value < 0) return InvalidArgument("position: {} is negative", *value);
  }
  if (!text.empty()) return InvalidArgument("position: unexpected '{}' after a place", text);
  return absl::OkStatus();
}

}  // namespace

std::string DatasetPosition::ToText() const {
  std::string text = fmt::format(
      "{} epoch={} ordinal={} seed={} source={} rows={} skipped={} dropped={} places=", kHead,
      epoch, ordinal, seed, source, rows, skipped, dropped);
  if (ended) text += kEnded;
  for (size_t i = 0; i < places.size() && !ended; ++i) {
    const Place& place = places[i];
    fmt::format_to(std::back_inserter(text), "{}{}:{}:{}:{}:{}", i == 0 ? "" : ",", place.file,
                   place.line, place.offset, place.batch, place.next);
  }
  for (const DatasetPosition& part : parts) text += kNextPart + part.ToText();
  return text;
}

StatusOr<DatasetPosition> DatasetPosition::FromText(std::string_view text) {
  DatasetPosition position;
  std::string_view parts = text;
  text = CutFront(&parts, kNextPart);
  while (!parts.empty()) {
    FL_ASSIGN_OR_RETURN(position.parts.emplace_back(), FromText(CutFront(&parts, kNextPart)));
  }
  const std::string_view head = CutFront(&text, ' ');
  if (head != kHead) return InvalidArgument("position: expected {}, found '{}'", kHead, head);
  FL_RETURN_IF_ERROR(ReadNamed("epoch", &text, &position.epoch));
  FL_RETURN_IF_ERROR(ReadNamed("ordinal", &text, &position.ordinal));
  FL_RETURN_IF_ERROR(ReadNamed("seed", &text, &position.seed));
  FL_RETURN_IF_ERROR(ReadNamed("source", &text, &position.source));
  FL_RETURN_IF_ERROR(ReadNamed("rows", &text, &position.rows));
  FL_RETURN_IF_ERROR(ReadNamed("skipped", &text, &position.skipped));
  FL_RETURN_IF_ERROR(ReadNamed("dropped", &text, &position.dropped));
  if (CutFront(&text, '=') != "places") return InvalidArgument("position: 'places=' is missing");
  if (text == kEnded) {
    position.ended = true;
    return position;
  }
  while (!text.empty()) {
    FL_RETURN_IF_ERROR(ReadPlace(CutFront(&text, ','), &position.places.emplace_back()));
  }
  return position;
}

}  // namespace flotilla
