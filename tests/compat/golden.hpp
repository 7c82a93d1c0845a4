// Golden files: what release 0.2 writes, in each format. They never change. A release that adds to a format adds a
// directory beside golden/0.2, and this release goes on to read the old one.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace udtx::test {

/// The text of a file of golden/0.2.
[[nodiscard]] std::string golden_text(const std::string& file);

/// One part of a golden file in hexadecimal digits: "[name]", then digits up to the next part. Comments start with '#'.
struct GoldenPart {
    std::string name;
    std::vector<std::byte> bytes;
};
[[nodiscard]] std::vector<GoldenPart> golden_parts(const std::string& file);
/// The parts by name.
[[nodiscard]] std::map<std::string, std::vector<std::byte>> golden_map(const std::string& file);
/// The bytes of all parts, one after another.
[[nodiscard]] std::vector<std::byte> golden_bytes(const std::string& file);

}  // namespace udtx::test
