// Flags for observing a transfer besides the progress line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/log.hpp"
#include "options/rate_options.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/rate.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/transfer.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct ObservingOptions {
    bool json_stream = false;
    bool stats = false;
    std::string metrics_text;
    std::string log_format_text = "text";
    std::string http_text;
    std::string report;  ///< file; empty: none

    std::optional<HostPort> metrics;
    std::optional<HostPort> http;

    void add_to(CLI::App& app, const std::string& group);
    Result<void> check();
};

}  // namespace udtx::apps

// The settings that both tools share.

namespace CLI {
class App;
}

namespace udtx::apps {

struct CommonOptions {
    // As typed. check() converts them to the members below.
    std::string psk_file_text;
    std::string identity_text;
    std::string rate_text;
    std::string timeout_text;
    std::string mtu_text = "auto";
    std::string threads_text = "1";
    std::string checksum = "xxh128";
    std::string log_text;
    std::string receipt_text;
    std::string congestion = TransportConfig().congestion;
    std::string policy_text = "fair";  // at the sender
    std::string min_rate_text;         // at the sender
    bool verbose = false;
    bool quiet = false;
    bool json = false;
    bool progress = false;
    bool preserve = false;
    bool no_resume = false;
    bool ipv4 = false;
    bool ipv6 = false;

    ObservingOptions observing;
    RateOptions rates;

    Rate rate = Rate::infinite();  ///< from --rate or --bwlimit
    Rate min_rate{};
    Policy policy = Policy::fair;
    std::optional<Duration> timeout;            ///< longest time without progress
    std::uint32_t max_datagram = 0;             ///< UDP payload
    std::optional<std::uint64_t> max_memory{};  ///< bytes; empty: transfer::default_window_memory()
    std::uint32_t threads = 1;                  ///< for packet processing
    AddressChoice addresses = AddressChoice::any;
    Origins origins;  ///< origins of values that were not typed

    void add_to(CLI::App& app);
    Result<void> check();
    /// Over ssh, each transfer gets a fresh key. A typed key is an error. Keys from configuration files are for other
    /// transfers.
    [[nodiscard]] Result<void> check_no_keys(const CLI::App& app) const;

    [[nodiscard]] Log::Verbosity verbosity() const noexcept;
    /// True if the summary has lines about the path. In the log of a script, one line a run is enough.
    [[nodiscard]] bool wants_details(bool terminal) const noexcept {
        return verbose || progress || observing.stats || terminal;
    }
    [[nodiscard]] TransportConfig transport() const;
    [[nodiscard]] transfer::LinkOptions link(TransportConfig config) const;
    /// Connects to one of the peer's addresses.
    [[nodiscard]] transfer::DialOptions dial(TransportConfig config, std::vector<Address> peer) const;
    /// For a side that reconnects: shortens the timeouts, because the user's patience covers more than one connection.
    void leave_time_to_reconnect(TransportConfig& config) const;
    /// The flags that the other side is started with over ssh.
    [[nodiscard]] std::vector<std::string> for_other_side() const;
    /// For reports: the controller of --cc, or "low" if that policy has its own controller.
    [[nodiscard]] std::string congestion_in_use() const;

  private:
    Result<void> check_rates();
};

/// For --show-config: defaults of flags that have none of their own.
[[nodiscard]] std::string computed_default(const std::string& key);
/// The error of a key file, with the option that named it.
[[nodiscard]] Error key_error(Error error, const std::string& option);
Result<Credentials> load_credentials(const CommonOptions& options);
/// Opens the file of --log if the user gave one, and warns of settings files that were not read.
[[nodiscard]] Result<void> open_log(Log& log, const CommonOptions& options);

}  // namespace udtx::apps
