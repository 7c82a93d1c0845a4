// Replaces libFuzzer's main() in ordinary builds. It passes each seed file to the fuzz target, and also each truncation
// of the file unless the first argument is --whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/require.hpp"
#include "test/fault_case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMaxTruncations = 2048;

/// Returns the number of inputs that were run.
std::size_t replay(const std::filesystem::path& file, bool whole) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const std::size_t shortest = bytes.size() - std::min(bytes.size(), whole ? 0 : kMaxTruncations);
    for (std::size_t size = shortest; size <= bytes.size(); ++size) {
        // An exact allocation lets ASan see a read one byte past the truncated input.
        const std::vector<std::uint8_t> input(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    return bytes.size() - shortest + 1;
}

}  // namespace

int main(int argc, char** argv) {
    LLVMFuzzerTestOneInput(nullptr, 0);
    const bool whole = argc > 1 && std::string(argv[1]) == "--whole";
    std::size_t files = 0;
    std::size_t inputs = 1;
    for (int i = whole ? 2 : 1; i < argc; ++i) {
        if (!std::filesystem::exists(argv[i])) {
            std::fprintf(stderr, "no corpus at %s\n", argv[i]);
            return 1;
        }
        for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
            if (entry.is_regular_file()) {
                inputs += replay(entry.path(), whole);
                ++files;
            }
        }
    }
    if (files == 0) {
        std::fprintf(stderr, "no seeds\n");
        return 1;
    }
    for (const auto& fault : udtx::fuzz::kFaultCases) {
        udtx::test::fault_case(fault.number, fault.bound,
                               std::to_string(inputs) + " inputs of " + std::to_string(files) + " seeds");
    }
    return 0;
}
