#include "compat/golden.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "test/bytes.hpp"
#include "test/temporary_directory.hpp"

namespace udtx::test {

std::string golden_text(const std::string& file) {
    std::string text = read_file(fs::path(UDTX_GOLDEN) / file);
    if (text.empty()) throw std::runtime_error("no golden file " + file);
    return text;
}

std::vector<GoldenPart> golden_parts(const std::string& file) {
    std::vector<GoldenPart> parts;
    std::istringstream lines(golden_text(file));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('[')) {
            parts.push_back({line.substr(1, line.find(']') - 1), {}});
            continue;
        }
        line = line.substr(0, line.find('#'));
        std::erase(line, ' ');
        const bool digits = line.find_first_not_of("0123456789abcdef") == std::string::npos && line.size() % 2 == 0;
        if (!digits || (parts.empty() && !line.empty())) throw std::runtime_error(file + ": " + line);
        if (line.empty()) continue;
        const auto bytes = from_hex(line);
        parts.back().bytes.insert(parts.back().bytes.end(), bytes.begin(), bytes.end());
    }
    return parts;
}

std::map<std::string, std::vector<std::byte>> golden_map(const std::string& file) {
    std::map<std::string, std::vector<std::byte>> parts;
    for (GoldenPart& part : golden_parts(file)) {
        if (!parts.emplace(part.name, std::move(part.bytes)).second) throw std::runtime_error(part.name + " twice");
    }
    return parts;
}

std::vector<std::byte> golden_bytes(const std::string& file) {
    std::vector<std::byte> all;
    for (const GoldenPart& part : golden_parts(file)) all.insert(all.end(), part.bytes.begin(), part.bytes.end());
    return all;
}

}  // namespace udtx::test
