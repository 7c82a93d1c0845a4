#include "options/send_command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "common/usage.hpp"
#include "config/parse.hpp"
#include "options/known_settings.hpp"
#include "options/manuals.hpp"
#include "options/subcommands.hpp"
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

}  // namespace udtx::apps
