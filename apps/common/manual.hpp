// The manual of a command apart from its flags. `--help` and the manual page are made from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/exit_codes.hpp"

namespace udtx::apps {

struct Manual {
    /// Flags that most users need for one task. If a command has tasks, its `--help` shows only these.
    struct Task {
        std::string_view name;
        std::vector<std::string_view> flags;  ///< long names without dashes
    };
    struct Entry {
        std::string_view name;  ///< a file, a variable, a subcommand or a field
        std::string_view text;
    };
    /// The fields of one kind of JSON object.
    struct Output {
        std::string_view name;        ///< of the kind of object
        std::string_view text;        ///< when it is printed
        std::vector<Entry> fields{};  ///< with units
    };
    struct Example {
        std::string_view command;
        std::string_view text;
    };

    std::vector<std::string_view> synopses;     ///< arguments after the name and the flags
    std::vector<std::string_view> description;  ///< paragraphs
    std::vector<Task> tasks = {};
    std::vector<Entry> commands = {};
    std::vector<Example> examples;
    std::vector<ExitCode> exit_codes;
    std::vector<Entry> environment = {};
    std::vector<Entry> files = {};
    std::vector<Output> output = {};              ///< on the manual page only
    std::vector<std::string_view> see_also = {};  ///< names of pages in section 1
};

/// Description, examples and exit codes for the end of `--help`. Lines have at most 100 characters.
[[nodiscard]] std::string plain_text(const Manual& manual);
/// Examples and subcommands, for the end of the short help.
[[nodiscard]] std::string short_text(const Manual& manual, const std::string& command);

}  // namespace udtx::apps
