#include "options/common_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "assets/assets.hpp"
#include "common/command_line.hpp"
#include "common/process.hpp"
#include "common/units.hpp"
#include "udtx/congestion.hpp"

namespace udtx::apps {
namespace {

Result<void> parse_address(const std::string& text, const char* flag, std::optional<HostPort>& where) {
    if (text.empty()) return {};
    auto parsed = parse_host_port(text);
    if (!parsed) return Error{ErrorCode::invalid_argument, std::string(flag) + ": " + parsed.error().message};
    where = std::move(*parsed);
    return {};
}

}  // namespace

void ObservingOptions::add_to(CLI::App& app, const std::string& group) {
    app.add_flag("--json-stream", json_stream, "Print one JSON object every second, and that of --json at the end")
        ->group(group);
    app.add_flag("--stats", stats, "Print statistics of files, packets and limits at the end")->group(group);
    app.add_option("--metrics", metrics_text, "Serve Prometheus metrics over HTTP (default ADDR: loopback)")
        ->type_name("[ADDR]:PORT")
        ->group(group);
    app.add_option("--log-format", log_format_text, "Format of messages, also of those in --log (default text)")
        ->type_name("text|json")
        ->group(group);
    app.add_option("--http", http_text, "Serve a live page for browsers (default ADDR: loopback)")
        ->type_name("[ADDR]:PORT")
        ->group(group);
    app.add_option("--report", report, "Write this page to a file at the end")->type_name("FILE.html")->group(group);
}

Result<void> ObservingOptions::check() {
    if (log_format_text != "text" && log_format_text != "json") {
        return Error{ErrorCode::invalid_argument,
                     "--log-format: '" + log_format_text + "' is unknown; use text or json"};
    }
    if (const auto parsed = parse_address(metrics_text, "--metrics", metrics); !parsed) return parsed;
    if (const auto parsed = parse_address(http_text, "--http", http); !parsed) return parsed;
    if (page_assets() == nullptr && (http || !report.empty())) {
        return Error{ErrorCode::invalid_argument,
                     std::string(http ? "--http" : "--report") +
                         ": this program was built without the page, because Chart.js was missing (Debian: "
                         "libjs-chart.js)"};
    }
    return {};
}

namespace {

// A network may recover after half a minute, and the session should survive that.
constexpr Duration kSilence = std::chrono::seconds(60);
// A side that only receives has nothing else to send. With keep-alives it learns soon that a server has restarted,
// because the server then reports the unknown connection.
constexpr Duration kKeepAlive = std::chrono::seconds(1);

std::string joined(const std::vector<std::string>& names, const char* between) {
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : between) + name;
    return out;
}

Result<std::uint32_t> parse_threads(const std::string& text) {
    std::uint32_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last || value < 1 || value > transfer::kMaxThreads) {
        return usage("--threads: '" + text + "' is not understood: give 1 to " + std::to_string(transfer::kMaxThreads));
    }
    return value;
}

}  // namespace

void CommonOptions::add_to(CLI::App& app) {
    const auto keys = "Keys";
    app.add_option("--psk-file", psk_file_text, "Shared key of both ends, created by 'udtx-send keygen FILE'")
        ->type_name("FILE")
        ->group(keys);
    app.add_option("--identity", identity_text, "Own Ed25519 key, created by 'udtx-send keygen --identity FILE'")
        ->type_name("FILE")
        ->group(keys);

    const auto transport_group = "Transport";
    app.add_option("-l,--rate", rate_text, "Maximum rate in bits per second (500M, 1.5G)")
        ->type_name("RATE")
        ->group(transport_group);
    rates.add_to(app, transport_group);
    app.add_option("--timeout", timeout_text,
                   "Give up after this time without progress (default 600). A connection ends when the other end "
                   "does not answer for half of it, at most 60 s; the rest is for reconnecting")
        ->type_name("SECONDS")
        ->group(transport_group);
    app.add_option("--cc", congestion, "Congestion controller (default " + congestion + ")")
        ->type_name(joined(congestion_controller_names(), "|"))
        ->group(transport_group);
    app.add_option("--mtu", mtu_text, "Largest IP packet, 1280 to 65535, or 'auto'")
        ->type_name("BYTES")
        ->group(transport_group);
    app.add_option("--threads", threads_text, "Threads for the packets of one connection, 1 to 16 (default 1)")
        ->type_name("N")
        ->group(transport_group);
    app.add_option("--max-memory", max_memory,
                   "Memory by which the windows of all connections may grow on fast long paths (default: a quarter of "
                   "the memory, at most 4G)")
        ->type_name("SIZE")
        ->transform(CLI::Validator(CLI::AsSizeValue(true)).description(""))
        ->group(transport_group);
    app.add_flag("-4,--ipv4", ipv4, "IPv4 only")->group(transport_group);
    app.add_flag("-6,--ipv6", ipv6, "IPv6 only")->group(transport_group);

    app.add_flag("--no-resume", no_resume, "Start from the beginning, and keep nothing for a later run")
        ->group("Copying");
    app.add_option_function<int>(
           "-k", [this](int level) { no_resume = no_resume || level == 0; },
           "Resume policy of ascp: 0 is --no-resume; 1 to 3 resume, always by hashes")
        ->check(CLI::Range(0, 3).description(""))
        ->type_name("0|1|2|3")
        ->group("Copying");

    app.add_option("--receipt", receipt_text,
                   "Write a hash of every block to FILE, for 'udtx-recv verify FILE DIR' (--shard auto: FILE.K)")
        ->type_name("FILE")
        ->group("Copying");

    const auto output = "Output";
    app.add_flag("-v,--verbose", verbose, "Print more messages")->group(output);
    app.add_flag("-q,--quiet", quiet, "Print errors only")->group(output);
    app.add_flag("--json", json, "Print one JSON object at the end")->group(output);
    observing.add_to(app, output);
    app.add_flag("--progress", progress, "Show progress even if standard error is not a terminal")->group(output);
    app.add_option("--log", log_text, "Write messages with timestamps to a file, too")
        ->type_name("FILE")
        ->group(output);
}

Result<void> CommonOptions::check_rates() {
    if (const auto checked = rates.check(); !checked) return checked;
    if (!rate_text.empty()) {
        const auto parsed = parse_rate(rate_text);
        if (!parsed) return usage("--rate: " + parsed.error().message);
        rate = parsed.value();
    }
    if (rates.bwlimit) {
        if (!rate_text.empty()) return usage("--rate and --bwlimit exclude each other");
        rate = *rates.bwlimit;
    }
    if (!min_rate_text.empty()) {
        const auto parsed = parse_rate(min_rate_text);
        if (!parsed) return usage("--min-rate: " + parsed.error().message);
        min_rate = parsed.value();
        if (min_rate > rate) {
            return usage("--min-rate " + min_rate_text + " is above --rate " +
                         (rate_text.empty() ? format_rate(rate) : rate_text));
        }
    }
    constexpr std::array<std::pair<std::string_view, Policy>, 4> kPolicies{
        {{"fair", Policy::fair}, {"high", Policy::high}, {"low", Policy::low}, {"fixed", Policy::fixed}}};
    const auto* found = std::find_if(kPolicies.begin(), kPolicies.end(),
                                     [this](const auto& known) { return known.first == policy_text; });
    if (found == kPolicies.end()) {
        return usage("--policy: '" + policy_text + "' is unknown; use fair, high, low or fixed");
    }
    policy = found->second;
    if (policy == Policy::fixed && rate.is_infinite()) {
        return usage("--policy fixed needs --rate");
    }
    if (policy == Policy::fixed && !min_rate_text.empty()) {
        return usage("--policy fixed and --min-rate exclude each other: the rate is fixed already");
    }
    return {};
}

Result<void> CommonOptions::check() {
    if (const auto checked = check_rates(); !checked) return checked;
    if (!timeout_text.empty()) {
        const auto parsed = parse_seconds(timeout_text);
        if (!parsed) return usage("--timeout: " + parsed.error().message);
        timeout = parsed.value();
    }
    if (const auto checked = observing.check(); !checked) return checked;
    json = json || observing.json_stream;
    const auto mtu = parse_mtu(mtu_text);
    if (!mtu) return usage("--mtu: " + mtu.error().message);
    max_datagram = mtu.value();
    if (max_memory && *max_memory > kMaxWindowMemory) return usage("--max-memory: at most 4G");
    const auto parsed_threads = parse_threads(threads_text);
    if (!parsed_threads) return parsed_threads.error();
    threads = *parsed_threads;
    const auto known = congestion_controller_names();
    if (std::find(known.begin(), known.end(), congestion) == known.end()) {
        return usage("--cc: '" + congestion + "' is unknown; use one of " + joined(known, ", "));
    }
    if (checksum != "xxh128" && checksum != "sha256") {
        return usage("--checksum: '" + checksum + "' is unknown; use xxh128 or sha256 (-c compares contents)");
    }
    if (ipv4 && ipv6) return usage("-4 and -6 exclude each other");
    if (ipv4) addresses = AddressChoice::v4_only;
    if (ipv6) addresses = AddressChoice::v6_only;
    if (quiet && verbose) return usage("-q and -v exclude each other");
    if (!psk_file_text.empty() && !identity_text.empty()) return usage("--psk-file and --identity exclude each other");
    return {};
}

Result<void> CommonOptions::check_no_keys(const CLI::App& app) const {
    for (const char* flag : {"--psk-file", "--identity", "--pin"}) {
        if (app.count(flag) == 0 || origins.has(flag)) continue;
        return usage(std::string(flag) +
                     " is for udtx://: over ssh each transfer gets its own key (-i is the key of ssh)");
    }
    return {};
}

Log::Verbosity CommonOptions::verbosity() const noexcept {
    if (quiet) return Log::Verbosity::quiet;
    return verbose ? Log::Verbosity::verbose : Log::Verbosity::normal;
}

std::string CommonOptions::congestion_in_use() const { return policy == Policy::low ? policy_text : congestion; }

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

transfer::LinkOptions CommonOptions::link(TransportConfig config) const {
    return {.transport = std::move(config), .threads = threads, .patience = timeout};
}

transfer::DialOptions CommonOptions::dial(TransportConfig config, std::vector<Address> peer) const {
    return {.link = link(std::move(config)), .choice = addresses, .addresses = std::move(peer)};
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
    const auto told = [&](const Error& error, const char* flag) {
        return options.origins.attribute(key_error(error, flag));
    };
    if (!options.identity_text.empty()) {
        auto identity = Credentials::from_identity_file(options.identity_text);
        return identity ? identity : told(identity.error(), "--identity");
    }
    if (options.psk_file_text.empty()) {
        return usage(
            "no key given: make one with 'udtx-send keygen FILE', copy it to the other machine and give "
            "--psk-file FILE on both");
    }
    auto shared = Credentials::from_psk_file(options.psk_file_text);
    return shared ? shared : told(shared.error(), "--psk-file");
}

Result<void> open_log(Log& log, const CommonOptions& options) {
    if (options.observing.log_format_text == "json") log.use_json();
    Result<void> added;
    if (!options.log_text.empty()) {
        added = log.add_file(options.log_text, std::string("started, version ") + program_version());
    }
    for (const std::string& why : options.origins.left_out) log.warn(why);
    return added;
}

}  // namespace udtx::apps
