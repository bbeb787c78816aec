#include "flotilla/corpus/id_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<uint32_t>;
constexpr uint32_t kEnd = kSentenceEnd;

Vocabulary Abc(bool unknown = false) {
  std::vector<WordCount> words = {{"a", 5}, {"b", 4}, {"c", 3}};
  if (unknown) words.push_back({"<UNK>", 1});
  return *Vocabulary::FromWords(words);
}

struct Epoch {
  std::vector<Ids> batches;
  std::vector<int64_t> words;
};

Epoch ReadEpoch(IdCorpus& corpus) {
  Epoch epoch;
  IdBatch batch;
  EXPECT_TRUE(corpus.StartEpoch().ok());
  while (true) {
    const StatusOr<bool> any = corpus.Next(&batch);
    EXPECT_TRUE(any.ok()) << any.status();
    if (!any.ok() || !*any) return epoch;
    EXPECT_EQ(batch.ordinal, static_cast<int64_t>(epoch.batches.size()));
    epoch.batches.emplace_back(batch.ids.begin(), batch.ids.end());
    epoch.words.push_back(batch.words);
  }
}

TEST(IdCorpusTest, SentencesEndWithLinesAndUnknownWordsAreLeftOutOrUnk) {
  const TempDir dir;
  const std::vector<std::string> files = {dir.Write("text", "a x b\n\nx\nc c"),
                                          dir.Write("more", "a\n")};
  const auto dropped = LoadIdCorpus(files, Abc(), {});
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_EQ(ReadEpoch(**dropped).batches, (std::vector<Ids>{{0, 1, kEnd, 2, 2, kEnd}, {0, kEnd}}));
  EXPECT_EQ((*dropped)->words(), 7);
  EXPECT_EQ((*dropped)->batches(), 2);
  const auto kept = LoadIdCorpus(files, Abc(true), {});
  EXPECT_EQ(ReadEpoch(**kept).batches,
            (std::vector<Ids>{{0, 3, 1, kEnd, 3, kEnd, 2, 2, kEnd}, {0, kEnd}}));
}

TEST(IdCorpusTest, MemoryAndStreamGiveTheSameBatchesForAnyThreads) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += std::string(1, static_cast<char>('a' + i * i % 5)) + (i % 13 == 0 ? "\n" : " ");
  }
  const std::vector<std::string> files = {dir.Write("text", text)};
  const Vocabulary vocabulary = Abc();
  IdCorpusOptions options;
  options.blocks.block_bytes = 300;
  const auto one = LoadIdCorpus(files, vocabulary, options);
  options.threads = 3;
  const auto three = LoadIdCorpus(files, vocabulary, options);
  const auto stream = StreamIdCorpus(files, vocabulary, 5000, 10000, options);
  const Epoch expected = ReadEpoch(**one);
  EXPECT_GT(expected.batches.size(), 10u);
  EXPECT_EQ((*one)->words(), 5000);
  EXPECT_NEAR(static_cast<double>(stream->batches()), static_cast<double>((*one)->batches()), 2);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (IdCorpus* corpus : {one->get(), three->get(), stream.get()}) {
      const Epoch read = ReadEpoch(*corpus);
      EXPECT_EQ(read.batches, expected.batches);
      EXPECT_EQ(read.words, expected.words);
    }
  }
  ASSERT_TRUE(stream->StartEpoch().ok());
  EXPECT_GE(stream->batches(), static_cast<int64_t>(expected.batches.size()));
}

TEST(IdCorpusTest, IdsAreReadAndThoseOfAnotherDictionaryRefused) {
  const TempDir dir;
  IdCorpusOptions options;
  options.text_is_ids = true;
  const auto corpus = LoadIdCorpus({dir.Write("ids", "0 2 1\n2\n")}, Abc(), options);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(ReadEpoch(**corpus).batches, (std::vector<Ids>{{0, 2, 1, kEnd, 2, kEnd}}));
  const auto error = [&](std::string_view text) {
    return std::string(Message(LoadIdCorpus({dir.Write("bad", text)}, Abc(), options).status()));
  };
  EXPECT_THAT(error("0 1\n2 3\n"),
              HasSubstr("/bad:2: expected ids below 3, the words of the dictionary, found '3'"));
  EXPECT_THAT(error("the cat\n"), HasSubstr("/bad:1: expected ids below 3"));
  EXPECT_THAT(error("1 -1\n"), HasSubstr("found '-1'"));
}

TEST(IdCorpusTest, AnEmptyCorpusHasNoBatches) {
  const TempDir dir;
  const auto corpus = LoadIdCorpus({dir.Write("empty", "")}, Abc(), {});
  ASSERT_TRUE(corpus.ok());
  EXPECT_EQ((*corpus)->words(), 0);
  EXPECT_TRUE(ReadEpoch(**corpus).batches.empty());
}

TEST(IdCorpusTest, PartsOfATextAreItsBatchesEachOnce) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i % 11 == 0 ? "a\n" : "b c ";
  const std::vector<std::string> files = {dir.Write("text", text)};
  const Vocabulary words = Abc();
  IdCorpusOptions options;
  options.blocks.block_bytes = 300;
  const Epoch whole = ReadEpoch(**LoadIdCorpus(files, words, options));
  for (const bool in_memory : {true, false}) {
    std::vector<Ids> together(whole.batches.size());
    options.parts = 3;
    for (options.part = 0; options.part < options.parts; ++options.part) {
      const std::unique_ptr<IdCorpus> corpus =
          in_memory
              ? *LoadIdCorpus(files, words, options)
              : StreamIdCorpus(files, words, 9000, static_cast<int64_t>(text.size()), options);
      ASSERT_TRUE(corpus->StartEpoch().ok());
      IdBatch batch;
      while (*corpus->Next(&batch)) {
        ASSERT_EQ(batch.ordinal % 3, options.part);
        ASSERT_TRUE(together[batch.ordinal].empty());
        together[batch.ordinal] = Ids(batch.ids.begin(), batch.ids.end());
      }
    }
    EXPECT_EQ(together, whole.batches) << (in_memory ? "in memory" : "streamed");
  }
}

TEST(IdCorpusTest, AnEpochContinuesAtAPosition) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i % 11 == 0 ? "a\n" : "b c ";
  const std::vector<std::string> files = {dir.Write("text", text)};
  const Vocabulary words = Abc();
  IdCorpusOptions options{.part = 1, .parts = 2};
  options.blocks.block_bytes = 300;
  for (const bool in_memory : {true, false}) {
    const std::unique_ptr<IdCorpus> corpus =
        in_memory ? *LoadIdCorpus(files, words, options)
                  : StreamIdCorpus(files, words, 9000, static_cast<int64_t>(text.size()), options);
    const auto ordinals = [&](int64_t skipped) {
      std::vector<int64_t> all;
      EXPECT_TRUE(corpus->StartEpoch(skipped).ok());
      EXPECT_EQ(corpus->position(), skipped);
      IdBatch batch;
      while (*corpus->Next(&batch)) all.push_back(batch.ordinal);
      EXPECT_EQ(corpus->position(), skipped + static_cast<int64_t>(all.size()));
      return all;
    };
    const std::vector<int64_t> whole = ordinals(0);
    ASSERT_GT(whole.size(), 5u);
    EXPECT_EQ(ordinals(4), std::vector<int64_t>(whole.begin() + 4, whole.end()));
    EXPECT_EQ(ordinals(0), whole);
  }
}

TEST(IdCorpusTest, FilesThatAreAPartHaveOrdinalsOfTheirOwn) {
  const TempDir dir;
  IdCorpusOptions options{.part = 1, .parts = 3, .share_blocks = false};
  const auto corpus = LoadIdCorpus({dir.Write("a", "a\n"), dir.Write("b", "b\n")}, Abc(), options);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  IdBatch batch;
  for (const int64_t ordinal : {1, 4}) {
    ASSERT_TRUE(*(*corpus)->Next(&batch));
    EXPECT_EQ(batch.ordinal, ordinal);
  }
  EXPECT_FALSE(*(*corpus)->Next(&batch));
}

TEST(IdCorpusTest, AGivenDictionaryMayDropUnknownWordsThoughItHasUnk) {
  const TempDir dir;
  const auto corpus = LoadIdCorpus({dir.Write("text", "a x <UNK>\n")}, Abc(true),
                                   {.tokenizer = TokenizerKind::kWhitespace, .drop_unknown = true});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(ReadEpoch(**corpus).batches, (std::vector<Ids>{{0, 3, kEnd}}));
}

TEST(IdCorpusTest, GivenIdsMakeBatchesOfWholeSentences) {
  const Ids ids = {0, 1, kEnd, 2, kEnd, kEnd, 0, 0, 0, 0, kEnd, 1, kEnd};
  const auto corpus = GivenIdCorpus(ids, 3, 3);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  for (int epoch = 0; epoch < 2; ++epoch) {
    const Epoch read = ReadEpoch(**corpus);
    EXPECT_EQ(read.batches,
              (std::vector<Ids>{{0, 1, kEnd, 2, kEnd}, {kEnd, 0, 0, 0, 0, kEnd}, {1, kEnd}}));
    EXPECT_EQ(read.words, (std::vector<int64_t>{3, 4, 1}));
  }
  EXPECT_EQ((*corpus)->words(), 8);
  EXPECT_TRUE(ReadEpoch(**GivenIdCorpus({}, 3, 3)).batches.empty());
}

TEST(IdCorpusTest, GivenIdsThatAreOutOfRangeOrCutAreErrors) {
  EXPECT_THAT(GivenIdCorpus(Ids{0, 3, kEnd}, 3, 9).status().message(),
              HasSubstr("id 3 at position 1: the dictionary has 3 words"));
  EXPECT_THAT(GivenIdCorpus(Ids{0, kEnd, 1}, 3, 9).status().message(),
              HasSubstr("the last of 3 ids is not the end of a sentence"));
}

}  // namespace
}  // namespace flotilla
