// A directory for one test case, which removes itself at the end of the case, and helpers for files in it.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace udtx::test {

namespace fs = std::filesystem;

class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string name = (fs::temp_directory_path() / "udtx-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] const fs::path& path() const noexcept { return path_; }
    [[nodiscard]] fs::path operator/(const std::string& name) const { return path_ / name; }

  private:
    fs::path path_;
};

inline void write_file(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

inline std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string random_content(std::size_t bytes, std::uint32_t seed) {
    std::mt19937 generator(seed);
    std::string out(bytes, '\0');
    for (char& c : out) c = static_cast<char>(generator());
    return out;
}

/// Number of regular files below `directory`, temporary files included.
inline std::size_t count_files(const fs::path& directory) {
    std::size_t n = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) n += entry.is_regular_file() ? 1U : 0U;
    return n;
}

}  // namespace udtx::test
