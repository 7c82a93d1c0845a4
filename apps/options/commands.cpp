#include "options/commands.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "common/command_line.hpp"
#include "common/units.hpp"
#include "config/parse.hpp"
#include "config/settings.hpp"
#include "options/manuals.hpp"
#include "options/subcommands.hpp"
#include "options/tree_options.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::apps {
namespace {

/// Parses the destination: ssh or a URL. Each has its own flags.
Result<void> take_place(const CLI::App& app, SendCommand& command, const std::string& text) {
    if (!looks_like_ssh(text)) {
        if (!looks_like_url(text) && text.find('/') == std::string::npos && !text.empty()) {
            return usage("the destination '" + text + "' names no host: over ssh write " +
                         (text.find('@') == std::string::npos ? "HOST:" + text + ", or " + text + ": if it is the host"
                                                              : text + ":") +
                         ", for a server udtx://HOST:PORT/");
        }
        auto url = parse_url(text);
        if (!url) return url.error();
        command.url = std::move(*url);
        const auto flag = command.ssh.typed(command.common.origins);
        return flag ? usage(*flag + " is for [user@]HOST:PATH, over ssh, and not for udtx://") : Result<void>();
    }
    auto target = parse_ssh_target(text);
    if (!target) return target.error();
    if (const auto checked = check_no_port(*target); !checked) return checked;
    command.remote = std::move(*target);
    return command.common.check_no_keys(app);
}

/// True if scp would read the source as remote. A local file with that name has priority.
bool is_remote(const std::string& source) {
    return looks_like_url(source) || (looks_like_ssh(source) && ::access(source.c_str(), F_OK) != 0);
}

/// Checks the file name for standard input at the destination. A URL needs no name, because only the receiver knows
/// whether it writes to its standard output.
Result<void> check_name_of_stream(const SendCommand& command) {
    const std::string& path = command.remote ? command.remote->path : command.url.path;
    const std::string leaf = path.substr(path.rfind('/') + 1);
    const bool home = command.remote && path == leaf && path.starts_with('~');
    if (!leaf.empty() && leaf != "." && leaf != ".." && !home) return {};
    if (!command.remote && path.find_first_not_of('/') == std::string::npos) return {};
    const std::string where = command.remote ? command.remote->login() + ':' + path : to_text(command.url);
    const std::string inside = path.empty() || path.ends_with('/') ? where : where + '/';
    return usage("standard input needs a name, and " + where + " is a directory: udtx-send - " + inside + "NAME");
}

/// The last positional argument is the destination.
Result<void> take_destination(const CLI::App& app, SendCommand& command) {
    if (command.sources.empty())
        return usage(
            "nothing to send: udtx-send [flags] SRC... [user@]HOST:PATH, or udtx://HOST:PORT/[subdir]; see --help");
    const std::string last = command.sources.back();
    command.sources.pop_back();
    const bool here = !looks_like_ssh(last) && !looks_like_url(last);
    if (here && !command.sources.empty() && is_remote(command.sources.front())) {
        return usage("the source is on another host; fetch it: udtx-recv " + command.sources.front() + " " + last);
    }
    const bool elsewhere = !here && !looks_like_url(last);
    if (elsewhere && !command.sources.empty() && is_remote(command.sources.front())) {
        return usage("udtx copies between this machine and another one: run udtx-send where " +
                     command.sources.front() + " is, or fetch it first with udtx-recv");
    }
    if (const auto taken = take_place(app, command, last); !taken) return taken;
    if (command.probe_only) {
        if (app.count("--report") > 0 && !command.common.origins.has("--report"))
            return usage("--report is for transfers, not for --probe-only");
        return command.sources.empty()
                   ? Result<void>()
                   : usage("--probe-only sends nothing: '" + command.sources[0] + "' is not needed");
    }
    if (command.sources.empty()) return usage("no source given: udtx-send [flags] SRC... " + last);
    for (const std::string& source : command.sources) {
        if (looks_like_url(source)) {
            return usage(std::string("more than one destination: ").append(source).append(" and ").append(last));
        }
        if (source.empty()) return usage("a source is an empty string");
        if (source == "-" && command.sources.size() > 1) return usage("'-' (standard input) must be the only source");
    }
    return command.streaming() ? check_name_of_stream(command) : Result<void>();
}

constexpr std::array<std::pair<std::string_view, Coupling>, 3> kCouplings{
    {{"detect", Coupling::detect}, {"lia", Coupling::lia}, {"none", Coupling::none}}};

std::string joined_schedulers(const char* between) {
    std::string names;
    for (const std::string& name : path_scheduler_names()) names += (names.empty() ? "" : between) + name;
    return names;
}

void add_path_options(CLI::App& app, SendCommand& command) {
    const auto group = "Several paths";
    command.paths.add_to(app);
    app.add_option("--scheduler", command.scheduler,
                   "Selects the path of the next packet (default " + command.scheduler + ")")
        ->type_name(joined_schedulers("|"))
        ->group(group);
    app.add_option("--reinject", command.reinject_text, "Send late data again on another path (default on)")
        ->type_name("on|off")
        ->group(group);
    app.add_option(
           "--coupling", command.coupling_text,
           "detect (default): paths through a shared bottleneck take the share of one flow; lia (RFC 6356); none")
        ->type_name("detect|lia|none")
        ->group(group);
}

Result<void> check_paths(SendCommand& command) {
    if (const auto made = make_path_scheduler(command.scheduler); !made) {
        return usage("--scheduler: '" + command.scheduler + "' is unknown; use one of " + joined_schedulers(", "));
    }
    if (command.reinject_text != "on" && command.reinject_text != "off") {
        return usage("--reinject: '" + command.reinject_text + "' is unknown; use on or off");
    }
    const auto known = [&](const auto& c) { return c.first == command.coupling_text; };
    if (std::none_of(kCouplings.begin(), kCouplings.end(), known)) {
        return usage("--coupling: '" + command.coupling_text + "' is unknown; use detect, lia or none");
    }
    return command.paths.check();
}

Result<void> check(const CLI::App& app, SendCommand& command) {
    if (const auto checked = command.common.check(); !checked) return checked;
    if (const auto checked = command.ssh.check(); !checked) return checked;
    command.ssh.patience = command.common.timeout;
    if (const auto taken = take_destination(app, command); !taken) return taken;
    if (const auto checked = command.tree.check(app, command.streaming(), command.sources.size()); !checked)
        return checked;
    command.common.receipt_text = command.tree.shards.receipt_of(command.common.receipt_text);
    std::optional<Url> server = command.remote ? std::nullopt : std::optional(command.url);
    if (const auto chosen = command.tree.shards.choose_server(server); !chosen) return chosen;
    if (server) command.url = std::move(*server);
    if (command.remote) {
        const std::string& path = command.remote->path;
        if (const auto checked = command.tree.shards.check_place(path, path.empty() || path.ends_with('/')); !checked)
            return checked;
    }
    command.common.preserve = command.common.preserve || command.tree.archive || command.tree.set_id;
    if (const auto checked = check_paths(command); !checked) return checked;
    if (command.streaming() && !command.common.receipt_text.empty()) {
        return usage("--receipt is for files, and not for standard input");
    }
    if (command.tree.dry_run && !command.common.receipt_text.empty()) return usage(kNoReceiptOfNothing);
    if (!command.remote && command.pin.empty() != command.common.identity_text.empty()) {
        return usage("--identity and --pin need each other: own key, and the receiver's public key");
    }
    return {};
}

}  // namespace

TransportConfig SendCommand::transport() const {
    TransportConfig config = common.transport();
    if (resumable()) common.leave_time_to_reconnect(config);
    config.scheduler = scheduler;
    config.reinject = reinject_text == "on";
    const auto* coupling =
        std::find_if(kCouplings.begin(), kCouplings.end(), [this](const auto& c) { return c.first == coupling_text; });
    if (coupling != kCouplings.end()) config.coupling = coupling->second;
    return config;
}

std::string SendCommand::congestion_in_use() const {
    const bool lia = coupling_text == "lia" && common.policy != Policy::low;
    return lia ? coupling_text : common.congestion_in_use();
}

void define_options(CLI::App& app, SendCommand& command) {
    command.common.add_to(app);
    app.add_option("--pin", command.pin, "With --identity: public key of the receiver, or a file of public keys")
        ->type_name("KEY|FILE")
        ->group("Keys");
    app.add_flag(
           "-p,--preserve", command.common.preserve,
           "Preserve full modes, and timestamps of directories and links; timestamps of files are always preserved")
        ->group("Copying");
    command.tree.add_to(app, "Existing files: diff (default) updates those that differ; never; always");
    app.add_option("--policy", command.common.policy_text,
                   "Share of the path: fair (default), high (as two flows), low (what other flows leave, with any "
                   "--cc), fixed (always --rate)")
        ->type_name("fair|high|low|fixed")
        ->group("Transport");
    app.add_option("-m,--min-rate", command.common.min_rate_text,
                   "Minimum rate in bits per second, even during congestion")
        ->type_name("RATE")
        ->group("Transport");
    command.ssh.add_to(app);
    app.add_flag("--probe-only", command.probe_only,
                 "Send no file: measure the path for some seconds (RTT, MTR, loss, MTU) and print what limits it")
        ->group("Transport");
    add_path_options(app, command);
    app.add_option("--checksum", command.common.checksum, "End-to-end hash of every file (default xxh128)")
        ->type_name("xxh128|sha256")
        ->group("Copying");
    app.add_option("ARGUMENTS", command.sources, "SRC... [user@]HOST:PATH, or SRC... udtx://HOST:PORT/[subdir]")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<EarlyText> parse_send_command(const std::vector<std::string>& arguments, SendCommand& command) {
    CLI::App app("Sends files and directories to udtx-recv over UDP, encrypted and verified.", "udtx-send");
    use_house_style(app);
    define_options(app, command);
    const auto target = [&] { return command.sources.empty() ? std::string() : command.sources.back(); };
    const auto computed = [](const std::string& key) { return key == "overwrite" ? "diff" : computed_default(key); };
    const auto parsed =
        parse_checked(app, arguments, target, {subcommands_of_send, known_settings, manual_of, computed},
                      command.common.origins, [&] { return check(app, command); });
    if (!parsed) return parsed.error();
    if (parsed->text) return parsed->text;
    if (const auto placed = parsed->place(command.url); !placed) return placed.error();
    return EarlyText();
}

namespace {

Result<void> check_target(RecvCommand& command) {
    const std::vector<std::string>& targets = command.targets;
    if (targets.size() > 1 || (targets.size() == 1 && targets[0] != "-")) {
        return usage("unexpected argument '" + targets.front() +
                     "'; give the directory with --dir, or '-' for standard output");
    }
    command.to_stdout = !targets.empty();
    if (command.to_stdout && !command.directory.empty()) return usage("--dir and '-' exclude each other");
    if (command.to_stdout && !command.one_off) return usage("'-' (standard output) needs --one-off");
    if (!command.to_stdout && command.directory.empty())
        return usage("--dir is missing: name the directory for the files");
    return {};
}

bool asks_to_pull(const std::vector<std::string>& targets) {
    return !targets.empty() && targets.front() != "-" &&
           (looks_like_ssh(targets.front()) || looks_like_url(targets.front()));
}

Result<void> take_ssh_source(RecvCommand& command, const std::string& text) {
    auto source = parse_ssh_target(text);
    if (!source) return source.error();
    if (const auto checked = check_no_port(*source); !checked) return checked;
    if (!command.sources.empty() && source->login() != command.sources.front().login()) {
        return usage("one run fetches from one host: " + command.sources.front().login() + " or " + source->login());
    }
    command.sources.push_back(std::move(*source));
    return {};
}

Result<void> take_url_source(RecvCommand& command, const std::string& text) {
    auto url = parse_url(text);
    if (!url) return url.error();
    if (command.server && authority(*url) != authority(*command.server)) {
        return usage("one run fetches from one server: " + authority(*command.server) + " or " + authority(*url));
    }
    command.server_paths.push_back(url->path);
    command.server = std::move(*url);
    return {};
}

/// Rejects flags that a pull does not use.
Result<void> check_flags_of_pull(const RecvCommand& command) {
    const Origins& origins = command.common.origins;
    const RateOptions& rates = command.common.rates;
    const std::array<std::pair<const char*, bool>, 3> listening{
        {{"--listen", !command.listen_text.empty()},
         {"--dir", !command.directory.empty()},
         {"--authorized-keys", !command.authorized_keys.empty()}}};
    for (const auto& [flag, set] : listening) {
        if (set && !origins.has(flag)) {
            return usage(std::string(flag) + " is for serving, and not for fetching (HOST:SRC, udtx://)");
        }
    }
    // The remote sender does not know this host's local time or its other transfers.
    const std::array<std::pair<const char*, bool>, 2> sending{
        {{"--schedule", !rates.schedule_text.empty()}, {"--host-rate", !rates.host_rate_text.empty()}}};
    for (const auto& [flag, set] : sending) {
        if (set && !origins.has(flag)) {
            return usage(std::string(flag) + " is for senders, and not for fetching (HOST:SRC, udtx://); use --rate");
        }
    }
    return {};
}

/// Keys, paths and congestion control: the permitted flags depend on whether a pull uses ssh or a URL.
Result<void> check_way_of_pull(const CLI::App& app, const RecvCommand& command) {
    const Origins& origins = command.common.origins;
    const auto typed = [&](const char* flag) { return app.count(flag) > 0 && !origins.has(flag); };
    if (!command.server) {
        for (const char* flag : {"--path", "--multipath"}) {
            if (typed(flag)) return usage(std::string(flag) + " is for udtx://, and not for [user@]HOST:SRC over ssh");
        }
        return command.common.check_no_keys(app);
    }
    if (const auto flag = command.ssh.typed(origins)) {
        return usage(*flag + " is for [user@]HOST:SRC, over ssh, and not for udtx://");
    }
    if (typed("--cc")) return usage("--cc is for senders: a server chooses the controller of what it sends");
    if (command.pin.empty() != command.common.identity_text.empty()) {
        return usage("--identity and --pin need each other: own key, and the server's public key");
    }
    return {};
}

// Nothing has this name: only udtx makes names of this kind, and it makes no such one.
constexpr const char* kNowhere = ".udtx-nowhere/";

/// The last target is the destination. The others are sources on one host. A source alone is listed.
Result<void> take_sources(const CLI::App& app, RecvCommand& command) {
    std::vector<std::string> texts = command.targets;
    if (texts.size() == 1) {
        command.tree.dry_run = true;
        texts.emplace_back(kNowhere);
    }
    command.destination = texts.back();
    texts.pop_back();
    const bool server = looks_like_url(texts.front());
    for (const std::string& text : texts) {
        const auto taken = server ? take_url_source(command, text) : take_ssh_source(command, text);
        if (!taken) return taken;
    }
    if (command.destination.empty()) return usage("the destination is an empty string");
    if (looks_like_ssh(command.destination) || looks_like_url(command.destination)) {
        return usage("the destination " + command.destination + " is on another host: give a local one (./" +
                     command.destination + " is a local name)");
    }
    command.to_stdout = command.destination == "-";
    command.one_off = true;
    if (const auto checked = check_flags_of_pull(command); !checked) return checked;
    if (const auto checked = check_way_of_pull(app, command); !checked) return checked;
    if (const auto checked = command.paths.check(); !checked) return checked;
    if (const auto checked = command.tree.check(app, command.to_stdout, texts.size()); !checked) return checked;
    command.common.receipt_text = command.tree.shards.receipt_of(command.common.receipt_text);
    if (const auto chosen = command.tree.shards.choose_server(command.server); !chosen) return chosen;
    if (command.tree.shards.needs_split()) {
        return usage(
            "--shard needs --plan FILE to fetch: run udtx-send plan -N COUNT SRC... >FILE where the sources are");
    }
    if (command.tree.dry_run && !command.common.receipt_text.empty()) return usage(kNoReceiptOfNothing);
    std::error_code ignored;
    const bool inside =
        command.destination.ends_with('/') || std::filesystem::is_directory(command.destination, ignored);
    if (const auto checked = command.tree.shards.check_place(command.destination, inside); !checked) return checked;
    command.common.preserve = command.common.preserve || command.tree.archive || command.tree.set_id;
    return {};
}

/// "fd:3" names an inherited socket, for example that of a systemd unit.
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
    auto listen = parse_host_port(command.listen_text);
    if (!listen) return usage("--listen: " + listen.error().message);
    command.listen = std::move(*listen);
    return {};
}

/// Rejects flags that a listening receiver does not use.
Result<void> check_flags_of_server(const CLI::App& app, const RecvCommand& command) {
    const Origins& origins = command.common.origins;
    if (const auto flag = command.ssh.typed(origins)) {
        return usage(*flag + " is for [user@]HOST:SRC... DEST, over ssh");
    }
    std::optional<std::string> pulling = TreeOptions::typed(app, origins);
    for (const char* flag : {"--pin", "--path", "--multipath", "--checksum"}) {
        if (!pulling && app.count(flag) > 0 && !origins.has(flag)) pulling = flag;
    }
    if (pulling) return usage(*pulling + " is for fetching (HOST:SRC... or udtx://HOST/SRC..., and DEST)");
    return {};
}

Result<void> check(const CLI::App& app, RecvCommand& command) {
    if (const auto checked = command.common.check(); !checked) return checked;
    if (const auto checked = command.ssh.check(); !checked) return checked;
    command.ssh.patience = command.common.timeout;
    if (asks_to_pull(command.targets)) return take_sources(app, command);
    if (const auto checked = check_flags_of_server(app, command); !checked) return checked;
    if (!command.tree.overwrite_text.empty()) {
        const auto overwrite = parse_overwrite(command.tree.overwrite_text);
        if (!overwrite) return overwrite.error();
        command.overwrite = overwrite.value();
    }
    if (command.listen_text.empty())
        return usage(
            "nothing to receive: udtx-recv --listen [ADDR]:PORT --dir DIR, or udtx-recv [user@]HOST:SRC... DEST, or "
            "udtx://HOST:PORT/SRC... DEST; see --help");
    if (const auto checked = check_listen(command); !checked) return checked;
    if (!command.max_rate_text.empty()) {
        const auto parsed = parse_rate(command.max_rate_text);
        if (!parsed) return usage("--max-rate: " + parsed.error().message);
        command.max_rate = *parsed;
    }
    if (!command.drain_text.empty()) {
        const auto parsed = parse_seconds(command.drain_text);
        if (!parsed) return usage("--drain: " + parsed.error().message);
        if (command.one_off) return usage("--drain is for a server, and not for --one-off");
        command.longest_drain = *parsed;
    }
    const auto sandbox = parse_sandbox_mode(command.sandbox_text);
    if (!sandbox) return sandbox.error();
    command.sandbox = *sandbox;
    if (const auto checked = check_target(command); !checked) return checked;
    if (!command.common.receipt_text.empty() && (command.to_stdout || !command.one_off)) {
        return usage("--receipt needs --one-off and --dir");
    }
    if (command.authorized_keys.empty() != command.common.identity_text.empty()) {
        return usage("--identity and --authorized-keys need each other: own key, and keys of clients");
    }
    if (command.allow_read && !command.authorized_keys.empty()) {
        return usage("--allow-read needs --psk-file: in --authorized-keys give each key the right 'read'");
    }
    return {};
}

/// invalid_argument names a typed flag that would have no effect. Settings from files and the environment serve both
/// modes.
Result<void> check_flags_of_mode(const CLI::App& app, const RecvCommand& command) {
    const auto typed = [&](const char* flag) { return app.count(flag) > 0 && !command.common.origins.has(flag); };
    if (!command.pulls()) {
        if (!typed("--preserve")) return {};
        return Error{ErrorCode::invalid_argument,
                     "--preserve is for fetching (HOST:SRC... DEST); with --listen each sender decides"};
    }
    for (const char* flag : {"--one-off", "--max-rate", "--min-free", "--protocol-threads", "--drain", "--log-files",
                             "--sandbox", "--allow-delete", "--allow-set-id", "--allow-read"}) {
        if (!typed(flag)) continue;
        return Error{ErrorCode::invalid_argument,
                     std::string(flag) + " is for serving, and not for fetching (HOST:SRC, udtx://)"};
    }
    return {};
}

}  // namespace

std::vector<std::string> RecvCommand::for_sender() const {
    std::vector<std::string> words = common.for_other_side();
    if (!common.rate_text.empty()) words.insert(words.end(), {"--rate", common.rate_text});
    if (!common.rates.bwlimit_text.empty()) words.insert(words.end(), {"--bwlimit", common.rates.bwlimit_text});
    words.insert(words.end(), {"--cc", common.congestion});
    return words;
}

transfer::Selection RecvCommand::selection() const {
    transfer::Selection what = tree.selection(common);
    what.sources = server ? server_paths : std::vector<std::string>{"."};
    return what;
}

void define_options(CLI::App& app, RecvCommand& command) {
    app.add_option("--listen", command.listen_text,
                   "Address to listen on: ADDR:PORT, [V6]:PORT, :PORT, or fd:N for an open socket")
        ->type_name("[ADDR]:PORT");
    app.add_option("--dir", command.directory, "Directory for everything that arrives; must exist")->type_name("DIR");
    app.add_option("--max-rate", command.max_rate_text, "Maximum rate of all transfers together, in equal shares")
        ->type_name("RATE");
    app.add_option("--min-free", command.min_free,
                   "Disk space to keep free, such as 50G; files that need more are refused")
        ->type_name("SIZE")
        ->transform(CLI::Validator(CLI::AsSizeValue(true)).description(""));
    app.add_option("--protocol-threads", command.protocol_threads,
                   "Threads that share the connections, 1 to 16 (default 1)")
        ->type_name("N")
        ->check(CLI::Range(std::size_t{1}, transfer::kMaxThreads).description(""));
    app.add_option("--drain", command.drain_text,
                   "Time that running transfers may take after TERM (default: no limit); then they end, and their "
                   "clients connect again")
        ->type_name("SECONDS");
    app.add_flag("--log-files", command.log_files,
                 "Log a line for each file or link that arrives, is sent or fails: its name, its size and its client");
    app.add_flag("--one-off", command.one_off, "Exit after one transfer");
    app.add_option("--sandbox", command.sandbox_text,
                   "With --listen: drop the right to write elsewhere and to start programs if the system supports it "
                   "(auto, default), require it (on), or keep the right (off)")
        ->type_name("auto|on|off");
    command.common.add_to(app);
    app.add_option("--authorized-keys", command.authorized_keys,
                   "With --identity: public keys of allowed clients, one per line, with their rights")
        ->type_name("FILE")
        ->group("Keys");
    app.add_option("--pin", command.pin,
                   "With --identity, for udtx://: public key of the server, or a file of public keys")
        ->type_name("KEY|FILE")
        ->group("Keys");
    command.ssh.add_to(app);
    app.add_flag("-p,--preserve", command.common.preserve,
                 "Fetch: preserve full modes, and timestamps of directories and links; timestamps of files are always "
                 "preserved")
        ->group("Copying");
    command.tree.add_to(app,
                        "Existing files. Fetch: diff (default) updates those that differ; never; always. With "
                        "--listen: the most that senders may do (default always)");
    app.add_option("--checksum", command.common.checksum, "Fetch: end-to-end hash of every file (default xxh128)")
        ->type_name("xxh128|sha256")
        ->group("Copying");
    app.add_flag("--allow-delete", command.allow_delete, "Allow senders to use --delete")->group("Copying");
    app.add_flag("--allow-set-id", command.allow_set_id, "Allow senders to use --set-id")->group("Copying");
    app.add_flag("--allow-read", command.allow_read,
                 "With --psk-file: allow clients to fetch from DIR, too (--authorized-keys grants this per key)")
        ->group("Copying");
    command.paths.add_to(app);
    app.add_option("TARGETS", command.targets,
                   "[user@]HOST:SRC... DEST, or udtx://HOST:PORT/SRC... DEST; with --listen '-' for standard output")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<EarlyText> parse_recv_command(const std::vector<std::string>& arguments, RecvCommand& command) {
    CLI::App app("Receives files and directories from udtx-send over UDP, encrypted and verified.", "udtx-recv");
    use_house_style(app);
    define_options(app, command);
    const auto source = [&] { return asks_to_pull(command.targets) ? command.targets.front() : std::string(); };
    const auto computed = [&](const std::string& key) -> std::string {
        if (key != "overwrite") return computed_default(key);
        if (asks_to_pull(command.targets)) return "diff";
        return command.listen_text.empty() ? "" : "always";
    };
    const auto parsed =
        parse_checked(app, arguments, source, {subcommands_of_recv, known_settings, manual_of, computed},
                      command.common.origins, [&] { return check(app, command); });
    if (!parsed) return parsed.error();
    if (parsed->text) return parsed->text;
    if (const auto checked = check_flags_of_mode(app, command); !checked) return checked.error();
    if (command.server) {
        if (const auto placed = parsed->place(*command.server); !placed) return placed.error();
    }
    return EarlyText();
}

std::vector<std::string> known_settings() {
    SendCommand sending;
    RecvCommand receiving;
    CLI::App send_app;
    CLI::App recv_app;
    define_options(send_app, sending);
    define_options(recv_app, receiving);
    std::vector<std::string> names = setting_names(send_app);
    for (std::string& name : setting_names(recv_app)) names.push_back(std::move(name));
    return names;
}

}  // namespace udtx::apps
