#include "udtx-recv/mode_flags.hpp"

#include <CLI/CLI.hpp>
#include <string>

namespace udtx::apps {

Result<void> check_flags_of_mode(const CLI::App& app, const RecvCommand& command) {
    const auto typed = [&](const char* flag) { return app.count(flag) > 0 && !command.common.origins.has(flag); };
    if (!command.pulls()) {
        if (!typed("--preserve")) return {};
        return Error{ErrorCode::invalid_argument,
                     "--preserve is for what is fetched, HOST:SRC... DEST; with --listen the senders say it"};
    }
    for (const char* flag :
         {"--one-off", "--max-rate", "--min-free", "--sandbox", "--allow-delete", "--allow-set-id", "--allow-read"}) {
        if (!typed(flag)) continue;
        return Error{ErrorCode::invalid_argument,
                     std::string(flag) + " is for a receiver that listens, and not for what is fetched, HOST:SRC"};
    }
    return {};
}

}  // namespace udtx::apps
