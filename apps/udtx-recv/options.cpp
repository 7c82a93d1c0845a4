#include "udtx-recv/options.hpp"

#include <utility>

#include "config/parse.hpp"

namespace udtx::apps {
namespace {

Error usage(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

constexpr const char* kFooter =
    R"(Serves any number of senders until it is stopped; with --one-off, one of them. Everything lands below DIR.
With "-" what a sender reads from its standard input goes to standard output (and the object of --json to standard
error). Port 0 picks a free port, which the first line on standard error names. Keys are made by 'udtx-send keygen'.

Exit codes: 0 done, 1 usage, 10 network, 11 file I/O, 12 protocol, 23 partial, 30 timeout, 40 authentication,
41 integrity, 130 interrupted, by a signal or by the sender of a --one-off transfer.)";

Result<void> check_target(RecvCommand& command) {
    const std::vector<std::string>& targets = command.targets;
    if (targets.size() > 1 || (targets.size() == 1 && targets[0] != "-")) {
        return usage("unexpected argument '" + targets.front() +
                     "'; the only one there is is '-', the directory is "
                     "given by --dir");
    }
    command.to_stdout = !targets.empty();
    if (command.to_stdout && !command.directory.empty()) return usage("--dir and '-' exclude each other");
    if (command.to_stdout && !command.one_off) return usage("'-' (standard output) needs --one-off");
    if (!command.to_stdout && command.directory.empty()) return usage("--dir is missing: where are files to go?");
    return {};
}

Result<void> check(RecvCommand& command) {
    if (const auto checked = command.common.check(); !checked) return checked;
    if (command.listen_text.empty()) return usage("--listen [ADDR]:PORT is missing");
    auto listen = io::parse_host_port(command.listen_text);
    if (!listen) return usage("--listen: " + listen.error().message);
    command.listen = std::move(*listen);
    if (const auto checked = check_target(command); !checked) return checked;
    if (command.authorized_keys.empty() != command.common.identity_text.empty()) {
        return usage("--identity and --authorized-keys go together: own key, and whom to let in");
    }
    return {};
}

}  // namespace

void define_options(CLI::App& app, RecvCommand& command) {
    app.add_option("--listen", command.listen_text, "Where to listen: ADDR:PORT, [V6]:PORT or :PORT")
        ->type_name("[ADDR]:PORT");
    app.add_option("--dir", command.directory, "Directory that takes what comes; must exist")->type_name("DIR");
    app.add_flag("--one-off", command.one_off, "End after one transfer");
    command.common.add_to(app);
    app.add_option("--authorized-keys", command.authorized_keys,
                   "With --identity: public keys of the senders, one a line")
        ->type_name("FILE")
        ->group("Keys");
    app.add_option("TARGET", command.targets, "'-' for standard output")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(kFooter);
}

Result<EarlyText> parse_recv_command(std::vector<std::string> arguments, RecvCommand& command) {
    CLI::App app("Receives files and directories from udtx-send over UDP, encrypted and verified.", "udtx-recv");
    use_house_style(app);
    define_options(app, command);
    const auto nobody = [] { return std::string(); };
    const auto parsed = parse_configured(app, std::move(arguments), nobody);
    if (!parsed) return parsed.error();
    if (parsed->text) return parsed->text;
    command.common.origins = parsed->origins;
    if (const auto checked = check(command); !checked) return command.common.origins.attribute(checked.error());
    return EarlyText();
}

}  // namespace udtx::apps
