// A temporary directory for one test, removed with its content when the test ends. For test
// programs only.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace flotilla {

class TempDir {
 public:
  TempDir() : path_(::testing::TempDir() + "/flotilla_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "cannot make " << path_;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

  // Writes a file with this content and returns its path.
  std::string Write(std::string_view name, std::string_view content) const {
    const std::string file = path_ + "/" + std::string(name);
    std::ofstream(file, std::ios::binary).write(content.data(), content.size());
    return file;
  }

 private:
  std::string path_;
};

// All bytes of a file. REQUIRES: the file exists.
inline std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace flotilla
