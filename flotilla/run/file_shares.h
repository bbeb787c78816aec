// How the trainers of a job share files: into how many shares, and whether all have the same files.
// Data that is already distributed over the nodes must not be split again, and shared data must not
// be read in full by every trainer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flotilla {

// The description of its files that a trainer sends to the others before they are split: number and
// size in readable form, a hash of names and sizes, and one that depends on their order. Remote
// files count with size 0.
std::string DescribeFiles(std::span<const std::string> files);

// A description of files that people can compare: "3 files, 1200 bytes (part-0 .. part-2)".
// REQUIRES: there are files.
std::string FilesText(std::span<const std::string> files);

// A warning about the files of a flag, or empty. `descriptions` are those of trainer 0, 1, ..;
// `split`: each will read its share of its list, otherwise all of it.
std::string SplitWarning(std::string_view flag, std::span<const std::string> descriptions,
                         bool split);

struct ShareOptions {
  int trainers = 1;
  bool by_size = true;  // shares are ranges of bytes, otherwise whole files
  int per_trainer = 0;  // 0: chosen here
  int64_t batch_size = 1000;
};

// The number of shares into which files are divided that trainers take one after the other; the
// number of trainers if each keeps the one that it has. A share that is chosen here is large enough
// for some dozen batches, so that the short batch at its end hardly matters, and small enough that
// an epoch does not wait for the last one of a slow trainer. Files whose size is unknown, since
// they are remote, count as one share.
int CountShares(std::span<const std::string> files, const ShareOptions& options);

}  // namespace flotilla
