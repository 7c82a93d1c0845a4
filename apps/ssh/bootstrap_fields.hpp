// What the two ends say over ssh's standard input and output before there is a connection: a greeting, then blocks of
// "name value" lines that end with "end" (docs/ssh.md). Text in, values out; nothing is read or written here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

/// The first line of each end.
struct BootstrapGreeting {
    std::uint64_t bootstrap = 0;  ///< version of these blocks
    std::string program;          ///< version of the program, for people
    std::uint64_t transfer = 0;   ///< version of the transfer protocol

    static constexpr std::uint64_t kVersion = 2;
};
[[nodiscard]] std::string to_line(const BootstrapGreeting& greeting);
/// nullopt: another line, such as what a login script prints.
[[nodiscard]] std::optional<BootstrapGreeting> parse_greeting(std::string_view line);

/// In order; a name may come more than once.
class BootstrapFields {
  public:
    void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
    /// The first of that name; empty if there is none.
    [[nodiscard]] std::string get(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
    /// nullopt: it is missing or no number.
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
    /// With "end". Values are percent-encoded where they would break a line.
    [[nodiscard]] std::string to_text() const;

  private:
    friend class BootstrapFieldReader;
    std::vector<std::pair<std::string, std::string>> fields_;
};

class BootstrapFieldReader {
  public:
    /// The block, once its "end" has come. protocol: that is no line of a block, or there are too many.
    Result<std::optional<BootstrapFields>> feed(std::string_view line);

  private:
    BootstrapFields fields_;
    std::size_t bytes_ = 0;
};

}  // namespace udtx::apps
