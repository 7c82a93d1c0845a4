#include "udtx-recv/options.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "common/overwrite.hpp"
#include "common/units.hpp"
#include "config/parse.hpp"
#include "udtx-recv/mode_flags.hpp"

namespace udtx::apps {
namespace {

Error usage(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

constexpr const char* kFooter =
    R"(With --listen: serves any number of senders until it is stopped; with --one-off, one of them. Everything lands below DIR.
With "-" what a sender reads from its standard input goes to standard output (and the object of --json to standard
error). Port 0 picks a free port, which the first line on standard error names. Keys are made by 'udtx-send keygen'.

Over ssh: udtx-recv [flags] [user@]HOST:SRC... DEST starts udtx-send on HOST, with a key for this transfer. DEST is as for
scp: a directory takes what comes, what does not exist becomes its new name, what ends in '/' is made; "-" takes one file.

  udtx-recv verify RECEIPT DIR   compare a directory with the receipt of a transfer; a directory of that name is ./verify
  udtx-recv doctor               say what is wrong with this machine, and what mends it

Exit codes: 0 done, 1 usage, 10 network, 11 file I/O, 12 protocol, 23 partial, 30 timeout, 40 authentication,
41 integrity, 42 UDP blocked, 130 interrupted, by a signal or by the sender of a --one-off transfer.)";

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

bool asks_to_pull(const std::vector<std::string>& targets) {
    return !targets.empty() && targets.front() != "-" && looks_like_ssh(targets.front());
}

/// The last is where to, the others are on one host.
Result<void> take_sources(RecvCommand& command) {
    std::vector<std::string> texts = command.targets;
    if (texts.size() < 2) return usage("where to? udtx-recv [flags] " + texts.front() + " DEST");
    command.destination = texts.back();
    texts.pop_back();
    for (const std::string& text : texts) {
        auto source = parse_ssh_target(text);
        if (!source) return source.error();
        if (!command.sources.empty() && source->login() != command.sources.front().login()) {
            return usage("one run takes from one host: " + command.sources.front().login() + " or " + source->login());
        }
        command.sources.push_back(std::move(*source));
    }
    if (command.destination.empty()) return usage("the destination is an empty string");
    if (looks_like_ssh(command.destination)) {
        return usage("the destination " + command.destination + " is on another host: one end is here (./" +
                     command.destination + " for a local name)");
    }
    command.to_stdout = command.destination == "-";
    command.one_off = true;
    const std::array<std::pair<const char*, bool>, 3> others{{{"--listen", !command.listen_text.empty()},
                                                              {"--dir", !command.directory.empty()},
                                                              {"--authorized-keys", !command.authorized_keys.empty()}}};
    for (const auto& [flag, set] : others) {
        if (set && !command.common.origins.has(flag)) {
            return usage(std::string(flag) + " is for a receiver that listens, and not for [user@]HOST:SRC");
        }
    }
    // The sender there has neither a clock of ours nor this host's other transfers.
    const RateOptions& rates = command.common.rates;
    if (!rates.schedule_text.empty() && !command.common.origins.has("--schedule")) {
        return usage("--schedule is for a sender and not for [user@]HOST:SRC; --rate is for both");
    }
    if (!rates.host_rate_text.empty() && !command.common.origins.has("--host-rate")) {
        return usage("--host-rate is for a sender and not for [user@]HOST:SRC; --rate is for both");
    }
    return command.common.check_no_keys();
}

/// "fd:3": the socket of a systemd unit, for one.
Result<void> check_listen(RecvCommand& command) {
    const std::string_view text = command.listen_text;
    if (text.starts_with("fd:")) {
        const char* const end = text.data() + text.size();
        const auto [last, error] = std::from_chars(text.data() + 3, end, command.inherited_socket);
        if (error != std::errc() || last != end || command.inherited_socket < 3) {
            return usage("--listen: '" + command.listen_text + "' is not fd:N with N above 2");
        }
        return {};
    }
    auto listen = io::parse_host_port(command.listen_text);
    if (!listen) return usage("--listen: " + listen.error().message);
    command.listen = std::move(*listen);
    return {};
}

Result<void> check(RecvCommand& command) {
    if (const auto checked = command.common.check(); !checked) return checked;
    if (const auto checked = command.ssh.check(); !checked) return checked;
    const auto overwrite = parse_overwrite(command.overwrite_text);
    if (!overwrite) return overwrite.error();
    command.overwrite = overwrite.value();
    if (asks_to_pull(command.targets)) return take_sources(command);
    if (const auto flag = command.ssh.typed(command.common.origins)) {
        return usage(*flag + " is for [user@]HOST:SRC... DEST, over ssh");
    }
    if (command.listen_text.empty())
        return usage("--listen [ADDR]:PORT is missing, or what to fetch: [user@]HOST:SRC... DEST");
    if (const auto checked = check_listen(command); !checked) return checked;
    if (!command.max_rate_text.empty()) {
        const auto parsed = parse_rate(command.max_rate_text);
        if (!parsed) return usage("--max-rate: " + parsed.error().message);
        command.max_rate = *parsed;
    }
    if (const auto checked = check_target(command); !checked) return checked;
    if (!command.common.receipt_text.empty() && (command.to_stdout || !command.one_off)) {
        return usage("--receipt is of one transfer into a directory: it needs --one-off and --dir");
    }
    if (command.authorized_keys.empty() != command.common.identity_text.empty()) {
        return usage("--identity and --authorized-keys go together: own key, and whom to let in");
    }
    return {};
}

}  // namespace

std::vector<std::string> RecvCommand::for_sender() const {
    std::vector<std::string> words = common.for_other_side();
    if (common.preserve) words.emplace_back("--preserve");
    if (!common.rate_text.empty()) words.insert(words.end(), {"--rate", common.rate_text});
    if (!common.rates.bwlimit_text.empty()) words.insert(words.end(), {"--bwlimit", common.rates.bwlimit_text});
    words.insert(words.end(), {"--cc", common.congestion});
    return words;
}

void define_options(CLI::App& app, RecvCommand& command) {
    app.add_option("--listen", command.listen_text,
                   "Where to listen: ADDR:PORT, [V6]:PORT, :PORT, or fd:N for a socket that is open")
        ->type_name("[ADDR]:PORT");
    app.add_option("--dir", command.directory, "Directory that takes what comes; must exist")->type_name("DIR");
    app.add_option("--max-rate", command.max_rate_text,
                   "At most so many bits per second from all senders together, in equal shares")
        ->type_name("RATE");
    app.add_flag("--one-off", command.one_off, "End after one transfer");
    command.common.add_to(app);
    app.add_option("--authorized-keys", command.authorized_keys,
                   "With --identity: public keys of the senders, one a line, with rights before them")
        ->type_name("FILE")
        ->group("Keys");
    command.ssh.add_to(app);
    app.add_flag("-r,--recursive")->description("Implied: directories always come whole")->group("Copying");
    app.add_flag("-p,--preserve", command.common.preserve, "Over ssh: keep modes and modification times")
        ->group("Copying");
    app.add_flag("--allow-delete", command.allow_delete, "Let senders use --delete")->group("Copying");
    app.add_option("--overwrite", command.overwrite_text,
                   "The most that senders may do with files that are there: always (default), diff, never")
        ->type_name("MODE")
        ->group("Copying");
    app.add_option("TARGETS", command.targets, "[user@]HOST:SRC... DEST; with --listen '-' for standard output")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(kFooter);
}

Result<EarlyText> parse_recv_command(std::vector<std::string> arguments, RecvCommand& command) {
    CLI::App app("Receives files and directories from udtx-send over UDP, encrypted and verified.", "udtx-recv");
    use_house_style(app);
    define_options(app, command);
    const auto source = [&] { return asks_to_pull(command.targets) ? command.targets.front() : std::string(); };
    const auto parsed = parse_configured(app, std::move(arguments), source);
    if (!parsed) return parsed.error();
    if (parsed->text) return parsed->text;
    command.common.origins = parsed->origins;
    if (const auto checked = check(command); !checked) return command.common.origins.attribute(checked.error());
    if (const auto checked = check_flags_of_mode(app, command); !checked) return checked.error();
    return EarlyText();
}

}  // namespace udtx::apps
