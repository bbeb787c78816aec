// `train word2vec` and `similar` together: text in, vectors out, scores, and training on
// more text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/infer/load_word_model.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

// Lines about one of two topics, whose words never meet.
std::string TwoTopics(int lines) {
  const char* const words[2][4] = {{"sea", "ship", "wave", "sail"},
                                   {"tree", "leaf", "root", "bark"}};
  std::string text;
  for (int i = 0; i < lines; ++i) {
    for (uint64_t k = 0; k < 8; ++k) {
      text += words[i % 2][RngKey(4).With(static_cast<uint64_t>(i)).Below(k, 4)];
      text += k == 7 ? "\n" : " ";
    }
  }
  return text;
}

ProgramRun Train(std::vector<std::string> more) {
  std::vector<std::string> args = {"train", "word2vec",        "--dim", "8",         "--sample",
                                   "0",     "--learning_rate", "0.1",   "--threads", "2"};
  args.insert(args.end(), more.begin(), more.end());
  return RunForTest(args);
}

// Workers change the same eight words at once, and the thread sanitizer takes half an hour to look
// up all of these races.
#ifdef __SANITIZE_THREAD__
constexpr char kWorkers[] = "1";
#else
constexpr char kWorkers[] = "2";
#endif

TEST(Word2VecCommandTest, TextBecomesVectorsThatKnowItsTopics) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(2000)), vectors = dir.path() + "/vectors";
  const std::string pairs =
      dir.Write("pairs", "sea ship 9\ntree leaf 8\nsea root 1\nsail bark 0\n");
  const std::string questions = dir.Write("q", ": topics\nsea ship tree leaf\n");
  const ProgramRun run =
      Train({"--data", text, "--vectors", vectors, "--out", dir.path() + "/model", "--save_dict",
             dir.path() + "/dict", "--json", "--pairs", pairs, "--questions", questions,
             "--threads", kWorkers});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report["words"], 5 * 16000);
  EXPECT_EQ(report["vocabulary"], 8);
  const double loaded = report["load_seconds"], trained = report["train_seconds"];
  EXPECT_DOUBLE_EQ(report["words_per_second"], 5 * 16000 / (loaded + trained));
  EXPECT_DOUBLE_EQ(report["train_words_per_second"], 5 * 16000 / trained);
  EXPECT_GT(report["similarity"]["pairs"]["spearman"], 0.5);
  EXPECT_EQ(report["analogy"]["asked"], 1);
  EXPECT_THAT(ContentOf(dir.path() + "/dict"), HasSubstr("sea "));
  const ProgramRun similar = RunForTest({"similar", vectors, "sea", "--top", "3", "--json"});
  ASSERT_EQ(similar.code, 0) << similar.err;
  std::vector<std::string> near;
  const auto found = nlohmann::json::parse(similar.out);
  for (const auto& word : found["similar"]) near.push_back(word["word"]);
  EXPECT_THAT(near, ::testing::UnorderedElementsAre("ship", "wave", "sail"));
  // The model directory has the same vectors.
  const auto from_file = OpenWordVectors(vectors),
             from_model = OpenWordVectors(dir.path() + "/model");
  ASSERT_TRUE(from_model.ok()) << from_model.status();
  EXPECT_EQ(from_model->values, from_file->values);
  EXPECT_EQ(from_model->vocabulary.total(), 16000u);
  // So do vectors that are exported from it.
  for (const std::string format : {"word2vec", "word2vec_binary"}) {
    const ProgramRun exported = RunForTest(
        {"export", dir.path() + "/model", "--format", format, "--out", dir.path() + "/exported"});
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_THAT(exported.out, HasSubstr("emb (8, 8): "));
    const auto again = OpenWordVectors(dir.path() + "/exported");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->values, from_file->values);
    EXPECT_EQ(again->vocabulary.word(0), from_file->vocabulary.word(0));
  }
}

TEST(Word2VecCommandTest, InferScoresWordVectorsAsTrainingDid) {
  const TempDir dir;
  const std::string model = dir.path() + "/model";
  const std::string pairs = dir.Write("pairs", "sea ship 9\ntree leaf 8\nsea root 1\n");
  const std::string questions =
      dir.Write("q", ": topics\nsea ship tree leaf\nsea ship tree nowhere\n");
  const ProgramRun train = Train({"--data", dir.Write("text", TwoTopics(500)), "--out", model,
                                  "--json", "--pairs", pairs, "--questions", questions});
  ASSERT_EQ(train.code, 0) << train.err;
  const auto trained = nlohmann::json::parse(train.out);
  const ProgramRun run =
      RunForTest({"infer", model, "--questions", questions, "--similarity", pairs, "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto report = nlohmann::json::parse(run.out);
  for (const char* key : {"analogy_accuracy", "analogy", "analogy_all", "analogy_original"}) {
    EXPECT_EQ(report[key], trained[key]) << key;
  }
  EXPECT_EQ(report["similarity"], trained["similarity"]);
  EXPECT_EQ(report["analogy_original"]["asked"], 2) << "unknown words are asked, too";
  EXPECT_EQ(report["words"], 8);
  const ProgramRun few =
      RunForTest({"infer", model, "--questions", questions, "--restrict_vocab", "2", "--json"});
  EXPECT_EQ(nlohmann::json::parse(few.out)["analogy"]["asked"], 0);
  EXPECT_THAT(RunForTest({"infer", model, "--questions", questions}).out, HasSubstr("topics"));
  const ProgramRun rows = RunForTest({"infer", model, "--data", questions});
  EXPECT_EQ(rows.code, kUsageError);
  EXPECT_THAT(rows.err, HasSubstr("--data is for models of rows, and " + model));
  EXPECT_EQ(RunForTest({"infer", model}).code, kUsageError);
}

TEST(Word2VecCommandTest, MetricsAndCurvesAreKeptBesideTheModel) {
  const TempDir dir;
  const std::string model = dir.path() + "/model", plot = dir.path() + "/loss.svg";
  const ProgramRun run = Train({"--data", dir.Write("text", TwoTopics(500)), "--out", model,
                                "--epochs", "2", "--plot", plot});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string metrics = ContentOf(model + ".log/metrics.jsonl");
  EXPECT_THAT(metrics, HasSubstr("\"kind\":\"epoch\",\"epoch\":1"));
  EXPECT_THAT(metrics, HasSubstr("\"event\":\"save\""));
  EXPECT_THAT(ContentOf(model + ".log/curves.svg"), HasSubstr("<svg"));
  EXPECT_THAT(ContentOf(plot), HasSubstr("<svg"));
}

TEST(Word2VecCommandTest, WordsMayBeSubtracted) {
  const TempDir dir;
  const std::string vectors = dir.Write("v", "4 2\nking 1 1\nhat 1 0\nqueen 0 1\nhouse -1 1\n");
  const ProgramRun run = RunForTest({"similar", vectors, "king", "-hat", "--top", "1"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("queen"));
  const ProgramRun unknown = RunForTest({"similar", vectors, "kin"});
  EXPECT_EQ(unknown.code, kFailure);
  EXPECT_THAT(unknown.err,
              HasSubstr("the word 'kin' is not in the vocabulary, did you mean king?"));
  EXPECT_EQ(RunForTest({"similar"}).code, kUsageError);
  EXPECT_EQ(RunForTest({"similar", vectors}).code, kUsageError);
  EXPECT_EQ(RunForTest({"similar", vectors, "king", "--tpo", "3"}).code, kUsageError);
}

TEST(Word2VecCommandTest, DeterministicRunsRepeatForAnyThreadsAndStreamsGiveTheSame) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(300)), vectors = dir.path() + "/vectors";
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--data", text, "--vectors", vectors, "--deterministic", "--schedule",
                             "exponential", "--decay_steps", "1"});
    const ProgramRun run = Train(more);
    EXPECT_EQ(run.code, 0) << run.err;
    return ContentOf(vectors);
  };
  const std::string first = train({"--threads", "1"});
  EXPECT_EQ(train({"--threads", "3"}), first);
  EXPECT_EQ(train({"--no_in_memory"}), first);
  EXPECT_NE(train({"--seed", "1"}), first);
  EXPECT_NE(train({"--bias"}), first);
  const std::string cbow = train({"--cbow", "--learning_rate", "0.1"});
  EXPECT_NE(cbow, first);
  EXPECT_EQ(train({"--cbow"}), cbow);
  EXPECT_NE(train({"--cbow", "--cbow_rule", "mean", "--learning_rate", "0.1"}), cbow);
  EXPECT_NE(train({"--cbow", "--cbow_rule", "sum", "--learning_rate", "0.1"}), cbow);
  EXPECT_NE(train({"--fixed_window"}), first);
}

TEST(Word2VecCommandTest, FilteredIdsTrainWithTheirDictionary) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(300));
  const std::string dict = dir.path() + "/dict", ids = dir.path() + "/ids";
  ASSERT_EQ(RunForTest({"data", "corpus", "build-dict", "--data", text, "--dict", dict}).code, 0);
  ASSERT_EQ(RunForTest({"data", "corpus", "filter", "--data", text, "--dict", dict, "--out", ids,
                        "--downsample", "0"})
                .code,
            0);
  const std::string a = dir.path() + "/a", b = dir.path() + "/b";
  ASSERT_EQ(
      Train({"--data", ids, "--input", "ids", "--dict", dict, "--vectors", a, "--deterministic"})
          .code,
      0);
  ASSERT_EQ(Train({"--data", text, "--dict", dict, "--vectors", b, "--deterministic"}).code, 0);
  EXPECT_EQ(ContentOf(a).substr(0, 4), "9 8\n") << "eight words and <UNK>";
  const ProgramRun wrong = Train(
      {"--data", ids, "--input", "ids", "--dict", dir.Write("small", "sea 5\n"), "--vectors", a});
  EXPECT_EQ(wrong.code, kFailure);
  EXPECT_THAT(wrong.err,
              HasSubstr("/ids/text:1: expected ids below 1, the words of the dictionary"));
}

TEST(Word2VecCommandTest, TrainingGoesOnWithNewTextAndNewWords) {
  const TempDir dir;
  const std::string model = dir.path() + "/model", vectors = dir.path() + "/vectors";
  ASSERT_EQ(Train({"--data", dir.Write("text", TwoTopics(300)), "--out", model, "--vectors",
                   vectors, "--vectors_format", "binary"})
                .code,
            0);
  std::string text;
  for (int i = 0; i < 50; ++i) text += "sea storm sea storm sea storm\n";
  const std::string more = dir.Write("more", text), after = dir.path() + "/after";
  for (const std::string& start : {model, vectors}) {
    const ProgramRun run = Train({"--data", more, "--init_model", start, "--vectors", after});
    ASSERT_EQ(run.code, 0) << run.err;
    const auto old_vectors = OpenWordVectors(start), new_vectors = OpenWordVectors(after);
    ASSERT_TRUE(new_vectors.ok()) << new_vectors.status();
    EXPECT_EQ(new_vectors->vocabulary.size(), 9u);
    const auto row = [](const WordVectors& all, const char* word) {
      const float* first = all.row(*all.vocabulary.Find(word));
      return std::vector<float>(first, first + all.dim);
    };
    EXPECT_TRUE(new_vectors->vocabulary.Find("storm"));
    EXPECT_EQ(row(*new_vectors, "tree"), row(*old_vectors, "tree")) << "not in the new text";
    EXPECT_NE(row(*new_vectors, "sea"), row(*old_vectors, "sea"));
  }
  const ProgramRun dim =
      Train({"--data", more, "--init_model", model, "--vectors", after, "--dim", "9"});
  EXPECT_EQ(dim.code, kFailure);
  EXPECT_THAT(dim.err, HasSubstr("--init_model: its vectors have 8 numbers: use --dim 8"));
}

TEST(Word2VecCommandTest, AStoppedRunIsResumedAndEndsWithTheSameBits) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(10000));
  const auto train = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.end(), {"--data", text, "--out", dir.path() + "/" + out, "--vectors",
                             dir.path() + "/" + out + ".vectors", "--deterministic", "--json",
                             "--epochs", "30", "--save_steps", "3", "--keep", "0"});
    return Train(std::move(more));
  };
  const ProgramRun straight = train("straight", {});
  ASSERT_EQ(straight.code, kSuccess) << straight.err;
  const std::string out = dir.path() + "/stopped";
  // The signal comes once the run has saved for the first time, inside an epoch.
  std::thread killer([&] {
    while (!std::filesystem::exists(out + "/latest")) std::this_thread::yield();
    raise(SIGTERM);
  });
  const ProgramRun stopped = train("stopped", {});
  killer.join();
  ASSERT_EQ(stopped.code, 128 + SIGTERM) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("to continue:\n  flotilla train word2vec"));
  EXPECT_THAT(stopped.err, HasSubstr(".vectors: not written"));
  EXPECT_FALSE(std::filesystem::exists(out + ".vectors"));
  EXPECT_EQ(nlohmann::json::parse(stopped.out)["stopped"], true);
  const ProgramRun resumed = train("stopped", {"--resume"});
  ASSERT_EQ(resumed.code, kSuccess) << resumed.err;
  EXPECT_EQ(ContentOf(out + ".vectors"), ContentOf(dir.path() + "/straight.vectors"));
  EXPECT_EQ(nlohmann::json::parse(resumed.out)["steps"],
            nlohmann::json::parse(straight.out)["steps"]);
}

TEST(Word2VecCommandTest, AStoppedRunWithoutADirectoryWritesItsUnfinishedVectors) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(2000)), vectors = dir.path() + "/vectors";
  const std::string status = dir.path() + "/status";
  // A trainer writes its status for the first time after some batches.
  setenv("FLOTILLA_STATUS_FILE", status.c_str(), 1);
  std::thread killer([&] {
    while (!std::filesystem::exists(status)) std::this_thread::yield();
    raise(SIGTERM);
  });
  const ProgramRun run = Train({"--data", text, "--vectors", vectors, "--epochs", "1000000"});
  killer.join();
  unsetenv("FLOTILLA_STATUS_FILE");
  EXPECT_EQ(run.code, 128 + SIGTERM) << run.err;
  EXPECT_THAT(run.err, HasSubstr("of 1000000: the vectors in " + vectors + " are unfinished"));
  const auto read = OpenWordVectors(vectors);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->vocabulary.size(), 8u);
}

TEST(Word2VecCommandTest, AResumedEpochCountsFromItsBeginning) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(10000)), out = dir.path() + "/model";
  const std::vector<std::string> flags = {
      "--data",       text, "--out",  out, "--deterministic", "--epochs", "1",
      "--save_steps", "3",  "--keep", "0", "--json"};
  const ProgramRun straight = Train(flags);
  ASSERT_EQ(straight.code, kSuccess) << straight.err;
  std::filesystem::remove_all(out + "/epoch_0");
  std::filesystem::remove(out + "/latest");
  std::filesystem::create_symlink("step_3", out + "/latest");
  std::vector<std::string> again = flags;
  again.push_back("--resume");
  const ProgramRun resumed = Train(again);
  ASSERT_EQ(resumed.code, kSuccess) << resumed.err;
  const auto all = nlohmann::json::parse(straight.out), rest = nlohmann::json::parse(resumed.out);
  EXPECT_EQ(rest["words"], all["words"]);
  EXPECT_EQ(rest["kept"], all["kept"]);
  EXPECT_NEAR(rest["loss"], all["loss"], 0.02) << "both are of samples";

  again = {"--data", dir.Write("other", TwoTopics(20)), "--out", out, "--resume"};
  std::filesystem::remove_all(out + "/epoch_0");
  std::filesystem::remove(out + "/latest");
  std::filesystem::create_symlink("step_3", out + "/latest");
  const ProgramRun other = Train(again);
  EXPECT_EQ(other.code, kFailure);
  EXPECT_THAT(other.err, HasSubstr("--data was 1 file, "));
}

TEST(Word2VecCommandTest, AModelPerEpochIsSavedAndMoreEpochsContinueFromTheLast) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(100)), out = dir.path() + "/model";
  ASSERT_EQ(Train({"--data", text, "--out", out, "--epochs", "2"}).code, kSuccess);
  EXPECT_TRUE(std::filesystem::exists(out + "/epoch_0"));
  EXPECT_EQ(std::filesystem::read_symlink(out + "/latest"), "epoch_1");
  const ProgramRun more = Train({"--data", text, "--out", out, "--epochs", "3", "--resume"});
  ASSERT_EQ(more.code, kSuccess) << more.err;
  EXPECT_EQ(std::filesystem::read_symlink(out + "/latest"), "epoch_2");
  const ProgramRun dict = Train({"--data", text, "--out", out, "--epochs", "4", "--resume",
                                 "--dict", dir.Write("dict", "sea 3\nship 2\n")});
  EXPECT_EQ(dict.code, kFailure) << "fewer words than those of the model";
  const std::string others = "sea 9\nship 9\nwave 9\nsail 9\ntree 9\nleaf 9\nroot 9\nfish 9\n";
  const ProgramRun other = Train({"--data", text, "--out", out, "--epochs", "4", "--resume",
                                  "--dict", dir.Write("others", others)});
  EXPECT_EQ(other.code, kFailure);
  EXPECT_THAT(other.err, HasSubstr("its dictionary is not that of this run"));
}

TEST(Word2VecCommandTest, AnotherRunsModelIsNotReplacedUnasked) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(100)), out = dir.path() + "/model";
  ASSERT_EQ(Train({"--data", text, "--out", out, "--epochs", "2"}).code, kSuccess);
  const ProgramRun second = Train({"--data", text, "--out", out});
  EXPECT_EQ(second.code, kFailure);
  EXPECT_THAT(second.err, HasSubstr("has models of another run: epoch_0, epoch_1"));
  EXPECT_THAT(second.err, HasSubstr("--overwrite to replace it, or another directory"));
  ASSERT_EQ(Train({"--data", text, "--out", out, "--epochs", "1", "--overwrite"}).code, kSuccess);
  EXPECT_FALSE(std::filesystem::exists(out + "/epoch_1"));
  EXPECT_EQ(std::filesystem::read_symlink(out + "/latest"), "epoch_0");
}

TEST(Word2VecCommandTest, FlagsThatWouldSayNothingAreUsageErrors) {
  const TempDir dir;
  const std::string text = dir.Write("text", TwoTopics(10)), dict = dir.Write("dict", "sea 1\n");
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--data", text, "--out", dir.path() + "/model"});
    const ProgramRun run = Train(more);
    EXPECT_EQ(run.code, kUsageError);
    return run.err;
  };
  EXPECT_THAT(error({"--dict", dict, "--min_count", "2"}), HasSubstr("--dict defines the words"));
  EXPECT_THAT(error({"--input", "ids", "--dict", dict, "--tokenizer", "whitespace"}),
              HasSubstr("not split into words"));
  EXPECT_THAT(error({"--decay_rate", "0.5"}), HasSubstr("it is for --schedule exponential"));
  EXPECT_THAT(error({"--vectors_format", "binary"}), HasSubstr("it is for --vectors"));
  EXPECT_THAT(error({"--half_dense"}), HasSubstr("no dense"));
  const ProgramRun late = RunForTest({"train", "--data", text, "word2vec"});
  EXPECT_EQ(late.code, kUsageError);
  EXPECT_THAT(late.err,
              HasSubstr("--data comes after the model: first give one of auto, lr, fm, "));
}

TEST(Word2VecCommandTest, BadInputIsAClearMessageOrADefinedResult) {
  const TempDir dir;
  const std::string vectors = dir.path() + "/vectors";
  const auto error = [&](std::string_view text, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--data", dir.Write("text", text), "--vectors", vectors});
    const ProgramRun run = Train(more);
    EXPECT_EQ(run.code, kFailure);
    return run.err;
  };
  EXPECT_THAT(error(""), HasSubstr("--data: no words in 1 files of 0 bytes together"));
  EXPECT_THAT(error("a few words\n"),
              HasSubstr("none of 3 words occurs 5 times: use a smaller --min_count"));
  EXPECT_THAT(error("x\n", {"--dict", dir.Write("d", "x y\n")}),
              HasSubstr("/d:1: expected a count"));
  // A single word: there is nothing to learn, and that is not an error.
  const ProgramRun one =
      Train({"--data", dir.Write("one", "a a a a a a a a\n"), "--vectors", vectors});
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(ContentOf(vectors).substr(0, 4), "1 8\n");
  // Bytes that are not UTF-8, in words that are kept.
  std::string odd;
  for (int i = 0; i < 10; ++i) odd += "caf\xff na\xc3\xafve\n";
  ASSERT_EQ(Train({"--data", dir.Write("odd", odd), "--tokenizer", "whitespace", "--vectors",
                   vectors, "--out", dir.path() + "/model"})
                .code,
            0);
  EXPECT_THAT(ContentOf(vectors), HasSubstr("caf\xef\xbf\xbd "));
  EXPECT_EQ(Train({"--data", "x"}).code, kUsageError) << "no result would be saved";
  EXPECT_EQ(Train({"--data", "x", "--vectors", "v", "--input", "ids"}).code, kUsageError);
}

}  // namespace
}  // namespace flotilla
