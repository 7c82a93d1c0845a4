// The flags that both tools have: keys, transport, output; the paths to the other side; how ssh starts it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/locations.hpp"
#include "common/log.hpp"
#include "common/units.hpp"
#include "udtx/address.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/path.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

class Flags;

/// Members with `_text` hold what was typed, for messages and for the other side.
struct CommonOptions {
    std::string psk_file;
    std::string identity;

    std::string rate_text;
    std::string bwlimit_text;
    Rate rate = Rate::infinite();  ///< from --rate or --bwlimit
    std::string min_rate_text;
    Rate min_rate{};  ///< at the sender
    std::optional<Schedule> schedule;
    Rate host_rate = Rate::infinite();  ///< of all transfers of this user
    Policy policy = Policy::fair;       ///< at the sender
    std::string congestion = TransportConfig().congestion;
    std::string timeout_text;
    std::optional<Duration> timeout;  ///< longest time without progress
    std::string mtu_text = "auto";
    std::uint32_t max_datagram = 0;             ///< UDP payload
    std::optional<std::uint64_t> max_memory{};  ///< bytes; empty: transfer::default_window_memory()
    std::string threads_text = "1";
    std::uint32_t threads = 1;  ///< for packet processing
    bool ipv4 = false;
    bool ipv6 = false;
    AddressChoice addresses = AddressChoice::any;

    bool preserve = false;
    bool no_resume = false;
    transfer::HashAlgorithm checksum = transfer::HashAlgorithm::xxh3_128;
    std::string receipt;  ///< file; empty: none

    bool verbose = false;
    bool quiet = false;
    bool json = false;
    bool json_stream = false;
    bool stats = false;
    bool progress = false;
    bool log_json = false;
    std::string log;                  ///< file; empty: none
    std::optional<HostPort> metrics;  ///< where to serve them
    std::optional<HostPort> http;     ///< where to serve the page
    std::string report;               ///< file; empty: none

    Origins origins;  ///< origins of values that were not typed

    void define(Flags& flags);
    /// Checks the values against each other.
    Result<void> check();
    /// Over ssh, each transfer gets a fresh key. A typed key is an error. Keys from configuration files are for other
    /// transfers.
    [[nodiscard]] Result<void> check_no_keys(const Flags& flags) const;

    [[nodiscard]] Log::Verbosity verbosity() const noexcept;
    /// True if the summary has lines about the path. In the log of a script, one line a run is enough.
    [[nodiscard]] bool wants_details(bool terminal) const noexcept { return verbose || progress || stats || terminal; }
    [[nodiscard]] TransportConfig transport() const;
    [[nodiscard]] transfer::ConnectionOptions connection(TransportConfig config) const;
    /// For a side that reconnects: shortens the timeouts, because the user's patience covers more than one connection.
    void leave_time_to_reconnect(TransportConfig& config) const;
    /// The flags that the other side is started with over ssh.
    [[nodiscard]] std::vector<std::string> for_other_side() const;
    /// For reports: the controller of --cc, or "low" if that policy has its own controller.
    [[nodiscard]] std::string congestion_in_use() const { return policy == Policy::low ? "low" : congestion; }
};

/// For --show-config: defaults of flags that have none of their own.
[[nodiscard]] std::string computed_default(const std::string& key);
/// The error of a key file, with the option that named it.
[[nodiscard]] Error key_error(Error error, const std::string& option);
Result<Credentials> load_credentials(const CommonOptions& options);
/// Opens the file of --log if the user gave one, and warns of settings files that were not read.
[[nodiscard]] Result<void> open_log(Log& log, const CommonOptions& options);

/// The largest number of --path options.
inline constexpr std::size_t kMostPaths = 8;

/// Parses "LOCAL[,REMOTE][,weight=N]".
[[nodiscard]] Result<PathRequest> parse_path(const std::string& text);

/// The paths from the side that connects to the other side.
struct PathOptions {
    std::vector<std::string> texts;  ///< of --path, as typed
    bool failover = false;           ///< one path carries all data while it works

    std::vector<PathRequest> requests;  ///< set by check()

    void define(Flags& flags);
    Result<void> check();
    /// Adds the paths to the options of a connection, whose addresses are the peer's. `again`: all paths existed at an
    /// earlier connection, so one that is missing now is left out.
    [[nodiscard]] Result<void> apply(transfer::PeerOptions& connection, bool again = false) const;
    /// For messages: the hosts and ports to connect to for `url`, "big.example:7011/udp".
    [[nodiscard]] std::string targets(const Url& url) const;
};

/// What carries the data from the side that connects.
struct CarrierFlags {
    enum class Only { nothing, udp, tcp, ssh };
    Only only = Only::nothing;     ///< nothing: UDP, and TCP or ssh where UDP does not pass
    std::optional<Proxy> proxy{};  ///< of --proxy, else of ALL_PROXY

    void define(Flags& flags);
    /// Checks the flags for a URL, for a code or for ssh. Values for the other kind that were not typed have no effect.
    /// Reads ALL_PROXY.
    Result<void> check(const Flags& flags, const Origins& origins, bool by_code, bool ssh);
    [[nodiscard]] CarrierOptions allowed(bool tcp) const;
};

/// The relay at which two ends meet with a code.
struct RendezvousFlags {
    HostPort relay;  ///< of --rendezvous; no host: none is named

    void define(Flags& flags);
    /// Checks the flags of a run with a code. The other ways to an end have flags that it does not need.
    Result<void> check(const Flags& flags, const Origins& origins) const;
    /// The error for a run without a code.
    [[nodiscard]] static Result<void> refuse(const Flags& flags, const Origins& origins);
};

/// How the other side is started over ssh.
struct SshOptions {
    std::string port;
    std::string identity;
    std::string command_text = "ssh";
    std::vector<std::string> command;  ///< --ssh, split into words
    std::string remote_bin;            ///< empty: the program's own name
    std::string udp_port_text;
    PortRange udp_ports;
    /// How long the other side waits for a new connection if ssh and the connection are lost.
    Duration linger = std::chrono::minutes(10);
    /// --timeout: limits the time in which ssh reaches the host and agrees on keys, without the password prompt.
    std::optional<Duration> patience;

    void define(Flags& flags);
    /// The flags that give the same options.
    [[nodiscard]] std::vector<std::string> as_flags() const;
    /// The error "FLAG why" for the first of these flags that was typed.
    [[nodiscard]] static Result<void> refuse(const Flags& flags, const Origins& origins, const std::string& why);
    /// True if --ssh is OpenSSH's client, judged by its name.
    [[nodiscard]] bool is_openssh() const;
};

/// Splits into words at white space. Quotes and backslashes work as in a shell; all other characters are literal.
Result<std::vector<std::string>> split_command(const std::string& text);

}  // namespace udtx::apps
