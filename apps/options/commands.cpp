#include "options/commands.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "common/text.hpp"
#include "common/units.hpp"
#include "config/settings.hpp"
#include "options/flags.hpp"
#include "options/subcommands.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::apps {

Result<void> TransferCommand::check_tree(const Flags& flags) {
    ShardOptions& shards = tree.shards;
    if (const auto checked = tree.check(flags, streaming, sources.size()); !checked) return checked;
    common.receipt = shards.receipt_of(common.receipt);
    common.preserve = common.preserve || tree.archive || tree.what.set_id;
    if (remote && !shards.servers.empty()) return usage("--servers is for udtx://HOST, and not for ssh");
    shards.choose_server(url);
    if (tree.what.dry_run && !common.receipt.empty()) {
        // A dry run would also replace the receipt of an earlier delivery.
        return usage("--receipt lists what was delivered, and --dry-run delivers nothing: leave one of them out");
    }
    return {};
}

namespace {

/// True if scp would read the source as remote. A local file with that name has priority.
bool is_remote(const std::string& source) {
    return looks_like_url(source) || (looks_like_ssh(source) && ::access(source.c_str(), F_OK) != 0);
}

/// Takes [user@]host:path into `target`, if it is one.
Result<void> take_ssh_target(const std::string& text, std::optional<SshTarget>& target) {
    auto parsed = parse_ssh_target(text);
    if (!parsed) return parsed.error();
    if (const auto checked = check_no_port(*parsed); !checked) return checked;
    target = std::move(*parsed);
    return {};
}

void define_checksum(Flags& flags, CommonOptions& common, const std::string& help) {
    using transfer::HashAlgorithm;
    flags.choice("--checksum", common.checksum,
                 {{"xxh128", HashAlgorithm::xxh3_128}, {"sha256", HashAlgorithm::sha256}}, help,
                 " (-c compares contents)");
}

}  // namespace

TransportConfig SendCommand::transport() const {
    TransportConfig config = common.transport();
    if (resumable()) common.leave_time_to_reconnect(config);
    config.scheduler = scheduler;
    config.reinject = reinject;
    config.coupling = coupling;
    return config;
}

std::string SendCommand::congestion_in_use() const {
    const bool lia = coupling == Coupling::lia && common.policy != Policy::low;
    return lia ? "lia" : common.congestion_in_use();
}

void SendCommand::define(Flags& flags) {
    common.define(flags);
    flags.group("Keys");
    flags.text("--pin", pin, "KEY|FILE", "With --identity: public key of the receiver, or a file of public keys");
    flags.group("Copying");
    flags.on("-p,--preserve", common.preserve,
             "Preserve full modes, and timestamps of directories and links; timestamps of files are always preserved");
    tree.define(flags, "Existing files: diff (default) updates those that differ; never; always");
    flags.group("Transport");
    flags.choice(
        "--policy", common.policy,
        {{"fair", Policy::fair}, {"high", Policy::high}, {"low", Policy::low}, {"fixed", Policy::fixed}},
        "Share of the path: fair (default), high (as two flows), low (what other flows leave, with any --cc), fixed "
        "(always --rate)");
    flags.value("-m,--min-rate", common.min_rate_text, common.min_rate, parse_rate, "RATE",
                "Minimum rate in bits per second, even during congestion");
    ssh.define(flags);
    rendezvous.define(flags);
    flags.on(
        "--code", by_code,
        "Instead of a destination: print a code with which udtx-recv --code fetches SRC anywhere, also behind NATs");
    flags.group("Transport");
    flags.on("--probe-only", probe_only,
             "Send no file: measure the path for some seconds (RTT, MTR, loss, MTU) and print what limits it");
    paths.define(flags);
    carriers.define(flags);
    flags.name("--scheduler", scheduler, path_scheduler_names(),
               "Selects the path of the next packet (default " + scheduler + ")");
    flags.choice("--reinject", reinject, {{"on", true}, {"off", false}},
                 "Send late data again on another path (default on)");
    flags.choice(
        "--coupling", coupling, {{"detect", Coupling::detect}, {"lia", Coupling::lia}, {"none", Coupling::none}},
        "detect (default): paths through a shared bottleneck take the share of one flow; lia (RFC 6356); none");
    flags.group("Copying");
    define_checksum(flags, common, "End-to-end hash of every file (default xxh128)");
    flags.arguments("ARGUMENTS", sources,
                    "SRC... [user@]HOST:PATH, or SRC... udtx://HOST:PORT/[subdir], or --code SRC...");
}

/// Checks the file name for standard input at the destination. A URL needs no name, because only the receiver knows
/// whether it writes to its standard output.
Result<void> SendCommand::check_name_of_stream() const {
    const std::string& path = remote ? remote->path : url.path;
    const std::string leaf = path.substr(path.rfind('/') + 1);
    const bool home = remote && path == leaf && path.starts_with('~');
    if (!leaf.empty() && leaf != "." && leaf != ".." && !home) return {};
    if (!remote && path.find_first_not_of('/') == std::string::npos) return {};
    const std::string where = remote ? remote->login() + ':' + path : to_text(url);
    const std::string inside = path.empty() || path.ends_with('/') ? where : where + '/';
    return usage("standard input needs a name, and " + where + " is a directory: udtx-send - " + inside + "NAME");
}

/// The last positional argument is the destination: ssh or a URL. Each has its own flags.
Result<void> SendCommand::take_destination(const Flags& flags) {
    if (by_code) {
        if (const auto checked = rendezvous.check(flags, common.origins); !checked) return checked;
        if (sources.empty()) return usage("nothing to send: udtx-send --code --rendezvous HOST SRC...");
        if (looks_like_url(sources.back()) || (looks_like_ssh(sources.back()) && is_remote(sources.back()))) {
            return usage("--code needs no destination: leave out " + sources.back());
        }
        if (probe_only) return usage("--probe-only is for a server or a host of ssh, and not for --code");
        return check_sources({});
    }
    if (const auto checked = RendezvousFlags::refuse(flags, common.origins); !checked) return checked;
    if (sources.empty())
        return usage(
            "nothing to send: udtx-send [flags] SRC... [user@]HOST:PATH, or udtx://HOST:PORT/[subdir]; see --help");
    const std::string last = sources.back();
    sources.pop_back();
    const bool by_ssh = looks_like_ssh(last);
    const bool by_url = looks_like_url(last);
    if (!by_url && !sources.empty() && is_remote(sources.front())) {
        if (by_ssh) {
            return usage("udtx copies between this machine and another one: run udtx-send where " + sources.front() +
                         " is, or fetch it first with udtx-recv");
        }
        return usage("the source is on another host; fetch it: udtx-recv " + sources.front() + " " + last);
    }
    if (by_ssh) {
        if (const auto taken = take_ssh_target(last, remote); !taken) return taken;
        if (const auto checked = common.check_no_keys(flags); !checked) return checked;
    } else {
        if (!by_url && last.find('/') == std::string::npos && !last.empty()) {
            return usage("the destination '" + last + "' names no host: over ssh write " +
                         (last.find('@') == std::string::npos ? "HOST:" + last + ", or " + last + ": if it is the host"
                                                              : last + ":") +
                         ", for a server udtx://HOST:PORT/");
        }
        auto parsed = parse_url(last);
        if (!parsed) return parsed.error();
        url = std::move(*parsed);
        const auto checked =
            SshOptions::refuse(flags, common.origins, "is for [user@]HOST:PATH, over ssh, and not for udtx://");
        if (!checked) return checked;
    }
    if (probe_only) {
        if (flags.typed("--report", common.origins)) return usage("--report is for transfers, not for --probe-only");
        return sources.empty() ? Result<void>()
                               : usage("--probe-only sends nothing: '" + sources[0] + "' is not needed");
    }
    if (sources.empty()) return usage("no source given: udtx-send [flags] SRC... " + last);
    return check_sources(last);
}

/// `after`: the destination; empty: there is none.
Result<void> SendCommand::check_sources(const std::string& after) {
    for (const std::string& source : sources) {
        if (looks_like_url(source)) {
            return usage(std::string("more than one destination: ").append(source).append(" and ").append(after));
        }
        if (source.empty()) return usage("a source is an empty string");
        if (source == "-" && sources.size() > 1) return usage("'-' (standard input) must be the only source");
    }
    streaming = sources.front() == "-";
    return streaming && !by_code ? check_name_of_stream() : Result<void>();
}

Result<void> SendCommand::check(const Flags& flags) {
    if (const auto checked = flags.check(); !checked) return checked;
    if (const auto checked = common.check(); !checked) return checked;
    ssh.patience = common.timeout;
    if (const auto taken = take_destination(flags); !taken) return taken;
    if (const auto checked = check_tree(flags); !checked) return checked;
    if (remote) {
        const std::string& path = remote->path;
        const auto checked = tree.shards.check_place(path, path.empty() || path.ends_with('/'));
        if (!checked) return checked;
    }
    if (const auto checked = paths.check(); !checked) return checked;
    if (const auto checked = carriers.check(flags, common.origins, by_code, remote.has_value()); !checked) {
        return checked;
    }
    if (streaming && !common.receipt.empty()) return usage("--receipt is for files, and not for standard input");
    if (!remote && !by_code && pin.empty() != common.identity.empty()) {
        return usage("--identity and --pin need each other: own key, and the receiver's public key");
    }
    return {};
}

namespace {

bool asks_to_pull(const std::vector<std::string>& targets) {
    return !targets.empty() && targets.front() != "-" &&
           (looks_like_ssh(targets.front()) || looks_like_url(targets.front()));
}

/// Returns the number in "fd:3", which names an inherited socket, for example that of a systemd unit; -1 for an
/// address.
Result<int> parse_listen(const std::string& text) {
    if (!text.starts_with("fd:")) {
        const auto address = parse_host_port(text);
        return address ? Result<int>(-1) : address.error();
    }
    if (const auto number = parse_number<int>(text.substr(3)); number && *number > 2) return *number;
    return usage("'" + text + "' is not fd:N with N above 2");
}

/// Each session takes two descriptors of the process.
Result<std::size_t> parse_sessions(const std::string& text) {
    constexpr std::size_t kMost = 7000;
    if (const auto number = parse_number<std::size_t>(text); number && *number >= 1 && *number <= kMost) return *number;
    return usage("'" + text + "' is not a number from 1 to " + std::to_string(kMost));
}

// Nothing has this name: only udtx makes names of this kind, and it makes no such one.
constexpr const char* kNowhere = ".udtx-nowhere/";

}  // namespace

std::vector<std::string> RecvCommand::for_sender() const {
    std::vector<std::string> words = common.for_other_side();
    if (!common.rate_text.empty()) words.insert(words.end(), {"--rate", common.rate_text});
    if (!common.bwlimit_text.empty()) words.insert(words.end(), {"--bwlimit", common.bwlimit_text});
    words.insert(words.end(), {"--cc", common.congestion});
    return words;
}

void RecvCommand::define(Flags& flags) {
    flags.value("--listen", listen, inherited_socket, parse_listen, "[ADDR]:PORT",
                "Address to listen on: ADDR:PORT, [V6]:PORT, :PORT, or fd:N for an open socket");
    flags.text("--tcp-listen", tcp_listen, "[ADDR]:PORT",
               "With --listen: TCP address for clients that UDP does not reach; repeat for several; 'none': no TCP "
               "(default: address and port of --listen)");
    flags.text("--dir", directory, "DIR", "Directory for everything that arrives; must exist");
    flags.value("--max-rate", max_rate, parse_rate, "RATE", "Maximum rate of all transfers together, in equal shares");
    flags.size("--min-free", min_free, "Disk space to keep free, such as 50G; files that need more are refused");
    flags.text("--protocol-threads", protocol_threads, "N", "Threads that share the connections, 1 to 16 (default 1)")
        ->check(CLI::Range(std::size_t{1}, transfer::kMaxThreads).description(""));
    flags.value("--drain", longest_drain, parse_seconds, "SECONDS",
                "Time that running transfers may take after TERM (default: no limit); then they end, and their clients "
                "connect again");
    flags.on("--log-files", log_files,
             "Log a line for each file or link that arrives, is sent or fails: its name, its size and its client");
    flags.on("--one-off", one_off, "Exit after one transfer");
    flags.choice(
        "--sandbox", sandbox, {{"auto", SandboxMode::automatic}, {"on", SandboxMode::on}, {"off", SandboxMode::off}},
        "With --listen: drop the right to write elsewhere and to start programs if the system supports it (auto, "
        "default), require it (on), or keep the right (off)");
    rendezvous.define(flags);
    flags.value(
        "--code", code, [](const std::string& text) { return parse_code(text); }, "CODE",
        "Receive what udtx-send --code offers with this code, into DEST (default: this directory), or '-'");
    flags.group("Relay");
    flags.on("--relay", relay,
             "Receive nothing: two ends behind NATs meet here with a code, and their datagrams are forwarded (default "
             "port 7012, UDP and TCP)");
    flags.value("--relay-rate", relay_rate, parse_rate, "RATE",
                "Maximum rate between two ends, both directions together; --max-rate limits all together");
    flags.value("--relay-sessions", relay_sessions, parse_sessions, "N",
                "Codes that wait and pairs of ends, 1 to 7000 (default 1000)");
    flags.value("--relay-time", relay_time, parse_seconds, "SECONDS",
                "Longest time of a pair (default 24h); a code waits for an hour at most");
    flags.group("Options");
    common.define(flags);
    flags.group("Keys");
    flags.text("--authorized-keys", authorized_keys, "FILE",
               "With --identity: public keys of allowed clients, one per line, with their rights");
    flags.text("--pin", pin, "KEY|FILE",
               "With --identity, for udtx://: public key of the server, or a file of public keys");
    ssh.define(flags);
    flags.group("Copying");
    flags.on("-p,--preserve", common.preserve,
             "Fetch: preserve full modes, and timestamps of directories and links; timestamps of files are always "
             "preserved");
    tree.define(flags,
                "Existing files. Fetch: diff (default) updates those that differ; never; always. With --listen: the "
                "most that senders may do (default always)");
    flags.group("Copying");
    define_checksum(flags, common, "Fetch: end-to-end hash of every file (default xxh128)");
    flags.on("--allow-delete", allow_delete, "Allow senders to use --delete");
    flags.on("--allow-set-id", allow_set_id, "Allow senders to use --set-id");
    flags.on("--allow-read", allow_read,
             "With --psk-file: allow clients to fetch from DIR, too (--authorized-keys grants this per key)");
    paths.define(flags);
    carriers.define(flags);
    flags.arguments(
        "TARGETS", targets,
        "[user@]HOST:SRC... DEST, or udtx://HOST:PORT/SRC... DEST; with --listen '-' for standard output; with --code "
        "[DEST]");
}

/// The last target is the destination. The others are sources on one host. A source alone is listed.
Result<void> RecvCommand::take_sources(const Flags& flags) {
    std::vector<std::string> texts = targets;
    if (texts.size() == 1) {
        tree.what.dry_run = true;
        texts.emplace_back(kNowhere);
    }
    destination = texts.back();
    texts.pop_back();
    const bool by_url = looks_like_url(texts.front());
    for (const std::string& text : texts) {
        const auto before = std::pair(remote, url);
        if (by_url) {
            auto parsed = parse_url(text);
            if (!parsed) return parsed.error();
            url = std::move(*parsed);
            if (!sources.empty() && authority(url) != authority(before.second)) {
                return usage("one run fetches from one server: " + authority(before.second) + " or " + authority(url));
            }
        } else if (const auto taken = take_ssh_target(text, remote); !taken) {
            return taken;
        } else if (before.first && remote->login() != before.first->login()) {
            return usage("one run fetches from one host: " + before.first->login() + " or " + remote->login());
        }
        sources.push_back(by_url ? url.path : remote->path);
    }
    if (destination.empty()) return usage("the destination is an empty string");
    if (looks_like_ssh(destination) || looks_like_url(destination)) {
        return usage("the destination " + destination + " is on another host: give a local one (./" + destination +
                     " is a local name)");
    }
    streaming = destination == "-";
    one_off = true;
    const Origins& origins = common.origins;
    auto checked = flags.refuse({"--listen", "--tcp-listen", "--dir", "--authorized-keys", "--one-off", "--max-rate",
                                 "--min-free", "--protocol-threads", "--drain", "--log-files", "--sandbox",
                                 "--allow-delete", "--allow-set-id", "--allow-read"},
                                origins, "is for serving, and not for fetching (HOST:SRC, udtx://)");
    // The remote sender does not know this host's local time or its other transfers.
    if (checked) {
        checked = flags.refuse({"--schedule", "--host-rate"}, origins,
                               "is for senders, and not for fetching (HOST:SRC, udtx://); use --rate");
    }
    if (checked && remote) {
        checked =
            flags.refuse({"--path", "--multipath"}, origins, "is for udtx://, and not for [user@]HOST:SRC over ssh");
        if (checked) checked = common.check_no_keys(flags);
    } else if (checked) {
        checked = SshOptions::refuse(flags, origins, "is for [user@]HOST:SRC, over ssh, and not for udtx://");
        if (checked) {
            checked =
                flags.refuse({"--cc"}, origins, "is for senders: a server chooses the controller of what it sends");
        }
        if (checked && pin.empty() != common.identity.empty()) {
            return usage("--identity and --pin need each other: own key, and the server's public key");
        }
    }
    if (checked) checked = paths.check();
    if (checked) checked = carriers.check(flags, origins, false, remote.has_value());
    if (checked) checked = check_tree(flags);
    if (!checked) return checked;
    // Over ssh the addresses come from ssh. Paths from configuration files apply only to servers.
    if (remote) paths.requests.clear();
    if (tree.shards.needs_split()) {
        return usage(
            "--shard needs --plan FILE to fetch: run udtx-send plan -N COUNT SRC... >FILE where the sources are");
    }
    std::error_code ignored;
    const bool inside = destination.ends_with('/') || std::filesystem::is_directory(destination, ignored);
    return tree.shards.check_place(destination, inside);
}

/// A receiver of one transfer, of which the relay tells where it comes from. Its only word is the directory.
Result<void> RecvCommand::take_code(const Flags& flags) {
    const Origins& origins = common.origins;
    if (const auto checked = rendezvous.check(flags, origins); !checked) return checked;
    const auto checked = flags.refuse({"--listen", "--tcp-listen", "--dir", "--authorized-keys", "--allow-read",
                                       "--protocol-threads", "--drain", "--transport"},
                                      origins, "is not for --code: udtx-recv --code CODE [DEST]");
    if (!checked) return checked;
    if (targets.size() > 1) return usage("unexpected argument '" + targets[1] + "': udtx-recv --code CODE [DEST]");
    directory = targets.empty() ? "." : targets.front();
    if (directory == "-") {
        targets = {"-"};
        directory.clear();
    } else {
        targets.clear();
    }
    listen = ":0";
    tcp_listen = {"none"};
    one_off = true;
    return {};
}

Result<void> RecvCommand::check_relay(const Flags& flags) {
    const Origins& origins = common.origins;
    constexpr const char* kFiles = "is for files, and not for --relay";
    auto checked = SshOptions::refuse(flags, origins, kFiles);
    if (checked) checked = TreeOptions::refuse(flags, origins, kFiles);
    if (checked) {
        checked = flags.refuse({"--dir",          "--min-free",     "--protocol-threads",
                                "--drain",        "--log-files",    "--one-off",
                                "--psk-file",     "--identity",     "--authorized-keys",
                                "--pin",          "--preserve",     "--checksum",
                                "--allow-delete", "--allow-set-id", "--allow-read",
                                "--path",         "--multipath",    "--rate",
                                "--bwlimit",      "--schedule",     "--host-rate",
                                "--timeout",      "--cc",           "--mtu",
                                "--max-memory",   "--threads",      "--ipv4",
                                "--ipv6",         "--no-resume",    "--receipt",
                                "--json",         "--json-stream",  "--stats",
                                "--progress",     "--metrics",      "--http",
                                "--report",       "--code",         "--rendezvous",
                                "--tcp-listen"},
                               origins, kFiles);
    }
    if (!checked) return checked;
    if (!targets.empty()) return usage("unexpected argument '" + targets.front() + "': a relay has no files");
    if (inherited_socket >= 0) return usage("--listen: fd:N is for servers: give --relay an address");
    return {};
}

Result<void> RecvCommand::check_server(const Flags& flags) {
    const Origins& origins = common.origins;
    constexpr const char* kFetching = "is for fetching (HOST:SRC... or udtx://HOST/SRC..., and DEST)";
    auto checked = SshOptions::refuse(flags, origins, "is for [user@]HOST:SRC... DEST, over ssh");
    if (checked) checked = TreeOptions::refuse(flags, origins, kFetching);
    if (checked)
        checked = flags.refuse({"--pin", "--path", "--multipath", "--transport", "--proxy", "--checksum"}, origins,
                               kFetching);
    if (checked) {
        checked = flags.refuse({"--preserve"}, origins,
                               "is for fetching (HOST:SRC... DEST); with --listen each sender decides");
    }
    if (!checked) return checked;
    if (listen.empty())
        return usage(
            "nothing to receive: udtx-recv --listen [ADDR]:PORT --dir DIR, or udtx-recv [user@]HOST:SRC... DEST, or "
            "udtx://HOST:PORT/SRC... DEST; see --help");
    if (longest_drain && one_off) return usage("--drain is for a server, and not for --one-off");
    if (targets.size() > 1 || (targets.size() == 1 && targets[0] != "-")) {
        return usage("unexpected argument '" + targets.front() +
                     "'; give the directory with --dir, or '-' for standard output");
    }
    streaming = !targets.empty();
    if (streaming && !directory.empty()) return usage("--dir and '-' exclude each other");
    if (streaming && !one_off) return usage("'-' (standard output) needs --one-off");
    if (!streaming && directory.empty()) return usage("--dir is missing: name the directory for the files");
    if (!common.receipt.empty() && (streaming || !one_off)) return usage("--receipt needs --one-off and --dir");
    if (authorized_keys.empty() != common.identity.empty()) {
        return usage("--identity and --authorized-keys need each other: own key, and keys of clients");
    }
    if (allow_read && !authorized_keys.empty()) {
        return usage("--allow-read needs --psk-file: in --authorized-keys give each key the right 'read'");
    }
    return {};
}

Result<void> RecvCommand::check(const Flags& flags) {
    if (const auto checked = flags.check(); !checked) return checked;
    if (const auto checked = common.check(); !checked) return checked;
    ssh.patience = common.timeout;
    if (relay) return check_relay(flags);
    if (const auto checked =
            flags.refuse({"--relay-rate", "--relay-sessions", "--relay-time"}, common.origins, "needs --relay");
        !checked) {
        return checked;
    }
    if (code) {
        if (const auto taken = take_code(flags); !taken) return taken;
        return check_server(flags);
    }
    if (const auto checked = RendezvousFlags::refuse(flags, common.origins); !checked) return checked;
    return asks_to_pull(targets) ? take_sources(flags) : check_server(flags);
}

namespace {

/// The target by which Host blocks are found; empty: the run connects to no host.
std::string target_of(const SendCommand& command) {
    return command.by_code || command.sources.empty() ? std::string() : command.sources.back();
}
std::string target_of(const RecvCommand& command) {
    return asks_to_pull(command.targets) ? command.targets.front() : std::string();
}

const char* usual_overwrite(const SendCommand& /*command*/) { return "diff"; }
const char* usual_overwrite(const RecvCommand& command) {
    if (asks_to_pull(command.targets)) return "diff";
    return command.listen.empty() && !command.code ? "" : "always";
}

bool uses_url(const SendCommand& command) { return !command.by_code; }
bool uses_url(const RecvCommand& command) { return command.pulls() && !command.remote; }

template <class Command>
Result<EarlyText> parse(CLI::App app, const std::vector<std::string>& arguments, Command& command,
                        Subcommands (*subcommands)()) {
    use_house_style(app);
    Flags flags(app);
    command.define(flags);
    const auto computed = [&](const std::string& key) {
        return key == "overwrite" ? usual_overwrite(command) : computed_default(key);
    };
    const auto parsed = parse_checked(
        app, arguments, [&] { return target_of(command); }, {subcommands, known_settings, manual_of, computed},
        command.common.origins, [&] { return command.check(flags); });
    if (!parsed) return parsed.error();
    if (parsed->text || !uses_url(command)) return parsed->text;
    if (const auto put = parsed->place(command.url); !put) return put.error();
    return EarlyText();
}

}  // namespace

Result<EarlyText> parse_send_command(const std::vector<std::string>& arguments, SendCommand& command) {
    return parse(CLI::App("Sends files and directories to udtx-recv over UDP, encrypted and verified.", "udtx-send"),
                 arguments, command, subcommands_of_send);
}

Result<EarlyText> parse_recv_command(const std::vector<std::string>& arguments, RecvCommand& command) {
    return parse(
        CLI::App("Receives files and directories from udtx-send over UDP, encrypted and verified.", "udtx-recv"),
        arguments, command, subcommands_of_recv);
}

std::vector<std::string> known_settings() {
    SendCommand sending;
    RecvCommand receiving;
    CLI::App send_app;
    CLI::App recv_app;
    Flags send_flags(send_app);
    Flags recv_flags(recv_app);
    sending.define(send_flags);
    receiving.define(recv_flags);
    std::vector<std::string> names = setting_names(send_app);
    for (std::string& name : setting_names(recv_app)) names.push_back(std::move(name));
    return names;
}

}  // namespace udtx::apps
