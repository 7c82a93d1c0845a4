#include "options/common_options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "assets/assets.hpp"
#include "common/process.hpp"
#include "common/text.hpp"
#include "options/flags.hpp"
#include "rendezvous/messages.hpp"
#include "udtx/congestion.hpp"

namespace udtx::apps {
namespace {

// A network may recover after half a minute, and the session should survive that.
constexpr Duration kSilence = std::chrono::seconds(60);
// A side that only receives has nothing else to send. With keep-alives it learns soon that a server has restarted,
// because the server then reports the unknown connection.
constexpr Duration kKeepAlive = std::chrono::seconds(1);

Result<std::uint32_t> parse_threads(const std::string& text) {
    const std::uint32_t value = parse_number<std::uint32_t>(text).value_or(0);
    if (value >= 1 && value <= transfer::kMaxThreads) return value;
    return usage("'" + text + "' is not understood: give 1 to " + std::to_string(transfer::kMaxThreads));
}

}  // namespace

void CommonOptions::define(Flags& flags) {
    flags.group("Keys");
    flags.text("--psk-file", psk_file, "FILE", "Shared key of both ends, created by 'udtx-send keygen FILE'");
    flags.text("--identity", identity, "FILE", "Own Ed25519 key, created by 'udtx-send keygen --identity FILE'");

    flags.group("Transport");
    flags.value("-l,--rate", rate_text, rate, parse_rate, "RATE", "Maximum rate in bits per second (500M, 1.5G)");
    flags.value("--bwlimit", bwlimit_text, rate, parse_bwlimit, "RATE",
                "--rate in the units of rsync: KiB per second, or 1.5M (of 1024), 2MB (of 1000)");
    flags.value("--schedule", schedule, Schedule::parse, "TIMES",
                "Maximum rates by local time of day: \"08:00,512M 18:00,off\"");
    flags.value("--host-rate", host_rate, parse_rate, "RATE",
                "Maximum rate of all transfers of this user with this flag, in equal shares");
    flags.value("--timeout", timeout_text, timeout, parse_seconds, "SECONDS",
                "Give up after this time without progress (default 600). A connection ends when the other end does not "
                "answer for half of it, at most 60 s; the rest is for reconnecting");
    flags.name("--cc", congestion, congestion_controller_names(), "Congestion controller (default " + congestion + ")");
    flags.value("--mtu", mtu_text, max_datagram, parse_mtu, "BYTES", "Largest IP packet, 1280 to 65535, or 'auto'");
    flags.value("--threads", threads_text, threads, parse_threads, "N",
                "Threads for the packets of one connection, 1 to 16 (default 1)");
    flags.size("--max-memory", max_memory,
               "Memory by which the windows of all connections may grow on fast long paths (default: a quarter of the "
               "memory, at most 4G)");
    flags.on("-4,--ipv4", ipv4, "IPv4 only");
    flags.on("-6,--ipv6", ipv6, "IPv6 only");

    flags.group("Copying");
    flags.on("--no-resume", no_resume, "Start from the beginning, and keep nothing for a later run");
    flags.app()
        .add_option_function<int>(
            "-k", [this](int level) { no_resume = no_resume || level == 0; },
            "Resume policy of ascp: 0 is --no-resume; 1 to 3 resume, always by hashes")
        ->check(CLI::Range(0, 3).description(""))
        ->type_name("0|1|2|3")
        ->group("Copying");
    flags.text("--receipt", receipt, "FILE",
               "Write a hash of every block to FILE, for 'udtx-recv verify FILE DIR' (--shard auto: FILE.K)");

    flags.group("Output");
    flags.on("-v,--verbose", verbose, "Print more messages");
    flags.on("-q,--quiet", quiet, "Print errors only");
    flags.on("--json", json, "Print one JSON object at the end");
    flags.on("--json-stream", json_stream, "Print one JSON object every second, and that of --json at the end");
    flags.on("--stats", stats, "Print statistics of files, packets and limits at the end");
    flags.value("--metrics", metrics, parse_host_port, "[ADDR]:PORT",
                "Serve Prometheus metrics over HTTP (default ADDR: loopback)");
    flags.choice("--log-format", log_json, {{"text", false}, {"json", true}},
                 "Format of messages, also of those in --log (default text)");
    flags.value("--http", http, parse_host_port, "[ADDR]:PORT",
                "Serve a live page for browsers (default ADDR: loopback)");
    flags.text("--report", report, "FILE.html", "Write this page to a file at the end");
    flags.on("--progress", progress, "Show progress even if standard error is not a terminal");
    flags.text("--log", log, "FILE", "Write messages with timestamps to a file, too");
}

Result<void> CommonOptions::check() {
    if (!rate_text.empty() && !bwlimit_text.empty()) return usage("--rate and --bwlimit exclude each other");
    if (min_rate > rate) {
        return usage("--min-rate " + min_rate_text + " is above --rate " +
                     (rate_text.empty() ? format_rate(rate) : rate_text));
    }
    if (policy == Policy::fixed && rate.is_infinite()) return usage("--policy fixed needs --rate");
    if (policy == Policy::fixed && !min_rate_text.empty()) {
        return usage("--policy fixed and --min-rate exclude each other: the rate is fixed already");
    }
    if (page_assets() == nullptr && (http || !report.empty())) {
        return usage(std::string(http ? "--http" : "--report") +
                     ": this program was built without the page, because Chart.js was missing (Debian: "
                     "libjs-chart.js)");
    }
    json = json || json_stream;
    if (max_memory && *max_memory > kMaxWindowMemory) return usage("--max-memory: at most 4G");
    if (ipv4 && ipv6) return usage("-4 and -6 exclude each other");
    if (ipv4) addresses = AddressChoice::v4_only;
    if (ipv6) addresses = AddressChoice::v6_only;
    if (quiet && verbose) return usage("-q and -v exclude each other");
    if (!psk_file.empty() && !identity.empty()) return usage("--psk-file and --identity exclude each other");
    return {};
}

Result<void> CommonOptions::check_no_keys(const Flags& flags) const {
    return flags.refuse({"--psk-file", "--identity", "--pin"}, origins,
                        "is for udtx://: over ssh each transfer gets its own key (-i is the key of ssh)");
}

Log::Verbosity CommonOptions::verbosity() const noexcept {
    if (quiet) return Log::Verbosity::quiet;
    return verbose ? Log::Verbosity::verbose : Log::Verbosity::normal;
}

void CommonOptions::leave_time_to_reconnect(TransportConfig& config) const {
    if (!timeout) return;
    config.idle_timeout = std::min(kSilence, *timeout / 2);
    config.keep_alive = std::min(config.keep_alive, config.idle_timeout / 4);
}

std::vector<std::string> CommonOptions::for_other_side() const {
    std::vector<std::string> words;
    if (no_resume) words.emplace_back("--no-resume");
    if (!timeout_text.empty()) words.insert(words.end(), {"--timeout", timeout_text});
    words.insert(words.end(), {"--mtu", mtu_text});
    // Uses the old name, because every version on the other side understands it.
    if (threads != 1) words.insert(words.end(), {"--streams", threads_text});
    return words;
}

TransportConfig CommonOptions::transport() const {
    TransportConfig config;
    config.congestion = congestion;
    config.max_rate = rate;
    config.min_rate = min_rate;
    config.policy = policy;
    config.max_datagram = max_datagram;
    config.max_memory = max_memory.value_or(transfer::default_window_memory());
    config.idle_timeout = kSilence;
    config.keep_alive = kKeepAlive;
    if (timeout) {
        config.handshake_timeout = std::min(config.handshake_timeout, *timeout);
        // The user's timeout also limits how long a silent peer is waited for, in both directions.
        config.idle_timeout = *timeout;
        config.keep_alive = std::min(config.keep_alive, *timeout / 4);
    }
    return config;
}

transfer::ConnectionOptions CommonOptions::connection(TransportConfig config) const {
    return {.transport = std::move(config), .threads = threads, .patience = timeout};
}

std::string computed_default(const std::string& key) {
    if (key == "timeout") return std::to_string(std::chrono::floor<std::chrono::seconds>(transfer::kPatience).count());
    if (key == "max-memory") return std::to_string(transfer::default_window_memory());
    return {};
}

Error key_error(Error error, const std::string& option) {
    // A damaged key gets the same code as a wrong one.
    if (error.code == ErrorCode::malformed) error.code = ErrorCode::authentication;
    if (!option.empty()) error.message = option + ": " + error.message;
    return error;
}

Result<Credentials> load_credentials(const CommonOptions& options) {
    const bool own = !options.identity.empty();
    if (!own && options.psk_file.empty()) {
        return usage(
            "no key given: make one with 'udtx-send keygen FILE', copy it to the other machine and give "
            "--psk-file FILE on both");
    }
    auto loaded =
        own ? Credentials::from_identity_file(options.identity) : Credentials::from_psk_file(options.psk_file);
    if (loaded) return loaded;
    return options.origins.attribute(key_error(loaded.error(), own ? "--identity" : "--psk-file"));
}

Result<void> open_log(Log& log, const CommonOptions& options) {
    if (options.log_json) log.use_json();
    Result<void> added;
    if (!options.log.empty()) {
        added = log.add_file(options.log, std::string("started, version ") + program_version());
    }
    for (const std::string& why : options.origins.left_out) log.warn(why);
    return added;
}

namespace {

constexpr std::string_view kWeight = "weight=";

Error malformed(const std::string& text, const std::string& why) { return usage("--path " + text + ": " + why); }

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    while (true) {
        const std::size_t comma = text.find(',', at);
        parts.push_back(text.substr(at, comma - at));
        if (comma == std::string::npos) return parts;
        at = comma + 1;
    }
}

std::optional<double> parse_weight(std::string_view text) {
    const auto value = parse_number<double>(text);
    return value && *value > 0.0 && *value <= kMaxPathWeight ? value : std::nullopt;
}

}  // namespace

Result<PathRequest> parse_path(const std::string& text) {
    PathRequest path;
    const auto parts = split(text);
    path.local = parts.front();
    if (path.local.empty()) return malformed(text, "start with an address or an interface");
    bool weight_seen = false;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (parts[i].rfind(kWeight, 0) == 0 && !weight_seen) {
            const auto weight = parse_weight(std::string_view(parts[i]).substr(kWeight.size()));
            if (!weight) return malformed(text, "the weight must be a number above 0, at most 1000000");
            path.weight = *weight;
            weight_seen = true;
        } else if (i == 1 && !parts[i].empty() && parts[i].find('=') == std::string::npos) {
            path.remote = parts[i];
        } else {
            return malformed(text, "'" + parts[i] + "' is not understood; use LOCAL[,REMOTE][,weight=N]");
        }
    }
    return path;
}

void PathOptions::define(Flags& flags) {
    flags.group("Several paths");
    flags.text("--path", texts, "LOCAL[,REMOTE][,weight=N]",
               "Use this local address or interface, to REMOTE if given; repeat for several paths");
    flags.choice(
        "--multipath", failover, {{"aggregate", false}, {"failover", true}},
        "aggregate (default): all paths at the same time; failover: the first path, and the others if it fails");
}

Result<void> PathOptions::check() {
    if (texts.size() > kMostPaths) {
        return usage("--path: " + std::to_string(texts.size()) + " paths, at most " + std::to_string(kMostPaths) +
                     " are possible");
    }
    for (const std::string& text : texts) {
        auto path = parse_path(text);
        if (!path) return path.error();
        const bool twice = std::any_of(requests.begin(), requests.end(), [&](const PathRequest& other) {
            return other.local == path->local && other.remote == path->remote;
        });
        if (twice) return usage("--path " + text + ": this path is given twice; change LOCAL or REMOTE");
        path->standby = failover && !requests.empty();
        requests.push_back(std::move(*path));
    }
    if (failover && requests.size() < 2) return usage("--multipath failover needs at least two --path");
    return {};
}

Result<void> PathOptions::apply(transfer::PeerOptions& connection, bool again) const {
    connection.paths = requests;
    connection.skip_absent_paths = again;
    if (requests.empty() || again) return {};
    const auto checked = check_paths(requests, connection.addresses, connection.choice);
    if (!checked) return Error{checked.error().code, "--path " + checked.error().message};
    return {};
}

void CarrierFlags::define(Flags& flags) {
    flags.group("Transport");
    flags.choice(
        "--transport", only, {{"auto", Only::nothing}, {"udp", Only::udp}, {"tcp", Only::tcp}, {"ssh", Only::ssh}},
        "auto (default): UDP, and where it does not pass, TCP to a server or the connection of ssh; udp, tcp or "
        "ssh: only that");
    flags.value("--proxy", proxy, parse_proxy, "URL",
                "Proxy for TCP: http://[USER:PASSWORD@]HOST:PORT or socks5://... (default: $ALL_PROXY)");
}

Result<void> CarrierFlags::check(const Flags& flags, const Origins& origins, bool by_code, bool ssh) {
    if (by_code) {
        if (only == Only::nothing || only == Only::udp) return {};
        if (flags.typed("--transport", origins)) return usage("--transport: with --code use auto or udp");
        only = Only::nothing;
        return {};
    }
    if (only == (ssh ? Only::tcp : Only::ssh)) {
        if (flags.typed("--transport", origins)) {
            return usage(ssh ? "--transport tcp is for udtx://; over ssh use --transport ssh"
                             : "--transport ssh is for [user@]HOST:PATH; for a server use --transport tcp");
        }
        only = Only::nothing;
    }
    if (ssh) {
        return flags.refuse({"--proxy"}, origins,
                            "is for udtx://; over ssh, name the proxy in ~/.ssh/config (ProxyCommand)");
    }
    if (only == Only::udp) return flags.refuse({"--proxy"}, origins, "is for TCP: leave out --transport udp");
    if (only == Only::tcp) {
        constexpr const char* kOne = "needs UDP: over TCP the system chooses the path; leave out --transport tcp";
        if (auto checked = flags.refuse({"--path", "--multipath"}, origins, kOne); !checked) return checked;
    }
    if (proxy) return {};
    for (const char* const name : {"ALL_PROXY", "all_proxy"}) {
        const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
        if (value == nullptr || *value == '\0') continue;
        auto parsed = parse_proxy(value);
        if (!parsed) return usage(std::string(name) + ": " + parsed.error().message);
        proxy = std::move(*parsed);
        break;
    }
    return {};
}

CarrierOptions CarrierFlags::allowed(bool tcp) const {
    CarrierOptions allowed;
    allowed.udp = only == Only::nothing || only == Only::udp;
    allowed.tcp = tcp && (only == Only::nothing || only == Only::tcp);
    allowed.proxy = proxy;
    return allowed;
}

void RendezvousFlags::define(Flags& flags) {
    flags.group("Codes");
    flags.value(
        "--rendezvous", relay, [](const std::string& text) { return parse_host(text, kDefaultRelayPort); },
        "HOST[:PORT]", "Relay at which the two ends meet: a host that runs udtx-recv --relay (default port 7012)");
}

Result<void> RendezvousFlags::check(const Flags& flags, const Origins& origins) const {
    constexpr const char* kOther = "is not for --code: the two ends meet at the relay and make their own key";
    auto checked = SshOptions::refuse(flags, origins, kOther);
    if (checked) {
        checked = flags.refuse({"--psk-file", "--identity", "--pin", "--path", "--multipath", "--proxy", "--shard"},
                               origins, kOther);
    }
    if (!checked || !relay.host.empty()) return checked;
    return usage(
        "--code needs --rendezvous HOST, a relay that both ends reach: any host with open ports can run "
        "udtx-recv --relay");
}

Result<void> RendezvousFlags::refuse(const Flags& flags, const Origins& origins) {
    return flags.refuse({"--rendezvous"}, origins, "needs --code");
}

std::string PathOptions::targets(const Url& url) const {
    std::vector<std::string> all;
    for (const PathRequest& path : requests) {
        Url target = url;
        if (!path.remote.empty()) target.host = path.remote;
        const std::string text = authority(target) + "/udp";
        if (std::ranges::find(all, text) == all.end()) all.push_back(text);
    }
    return all.empty() ? authority(url) + "/udp" : joined(all, ", ");
}

void SshOptions::define(Flags& flags) {
    const auto check_port = [](const std::string& text) -> Result<std::string> {
        const auto range = parse_port_range(text);
        if (range && range->first == range->last) return text;
        return usage("'" + text +
                     "' is not a port from 1 to 65535 (-P is the port of ssh; for -P of rsync leave it out)");
    };
    flags.group("Over ssh");
    flags.value("-P,--ssh-port", port, port, check_port, "PORT", "Port of the ssh server");
    flags.text("-i,--ssh-identity", identity, "FILE", "Private key for ssh (its -i)");
    flags.value("--ssh", command_text, command, split_command, "CMD", "Command in place of 'ssh', with its flags");
    flags.text("--remote-bin", remote_bin, "PATH",
               "Program on the other machine or its directory, if it is not in PATH, ~/.local/bin or /usr/local/bin");
    flags.value("-O,--udp-port", udp_port_text, udp_ports, parse_port_range, "PORT[-PORT]",
                "UDP port of the other end, or a range (60000-60010); default: any");
    const auto parse_linger = [](const std::string& text) {
        return text == "0" ? Result<Duration>(Duration::zero()) : parse_seconds(text);
    };
    flags.value("--linger", linger, parse_linger, "SECONDS",
                "How long the other end keeps its port and key after both connections are lost, so that no new login "
                "is needed (default 10m; 0: not at all)");
}

std::vector<std::string> SshOptions::as_flags() const {
    std::vector<std::string> flags;
    const auto add = [&flags](const char* flag, const std::string& value, const std::string& usual = {}) {
        if (value != usual) flags.insert(flags.end(), {flag, value});
    };
    add("--ssh-port", port);
    add("--ssh-identity", identity);
    add("--ssh", command_text, SshOptions().command_text);
    add("--remote-bin", remote_bin);
    add("--udp-port", udp_port_text);
    return flags;
}

Result<void> SshOptions::refuse(const Flags& flags, const Origins& origins, const std::string& why) {
    return flags.refuse({"--ssh-port", "--ssh-identity", "--ssh", "--remote-bin", "--udp-port", "--linger"}, origins,
                        why);
}

bool SshOptions::is_openssh() const {
    const std::string& program = command.front();
    return program.substr(program.rfind('/') + 1) == "ssh";
}

Result<std::vector<std::string>> split_command(const std::string& text) {
    std::vector<std::string> words;
    std::optional<std::string> word;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
            word = word.value_or("") + text[++i];
        } else if (quote != 0 && c == quote) {
            quote = 0;
        } else if (quote == 0 && (c == '\'' || c == '"')) {
            quote = c;
            word = word.value_or("");
        } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
            if (word) words.push_back(*std::exchange(word, std::nullopt));
        } else {
            word = word.value_or("") + c;
        }
    }
    if (quote != 0) return usage("a quote is not closed in: " + text);
    if (word) words.push_back(std::move(*word));
    if (words.empty()) return usage("the command is empty");
    return words;
}

}  // namespace udtx::apps
