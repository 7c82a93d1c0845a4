// What both tools let the user set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "common/origins.hpp"
#include "options/observing_options.hpp"
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

struct CommonOptions {
    // As typed; check() turns them into what follows.
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
    std::string policy_text = "fair";  // of the sender
    std::string min_rate_text;         // of the sender
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

    Rate rate = Rate::infinite();  ///< of --rate or --bwlimit
    Rate min_rate{};
    Policy policy = Policy::fair;
    std::optional<Duration> timeout;            ///< no progress for so long ends the transfer
    std::uint32_t max_datagram = 0;             ///< UDP payload
    std::optional<std::uint64_t> max_memory{};  ///< bytes; none: transfer::default_window_memory()
    std::uint32_t threads = 1;                  ///< that packets pass through
    AddressChoice addresses = AddressChoice::any;
    Origins origins;  ///< of what was not typed

    void add_to(CLI::App& app);
    Result<void> check();
    /// Over ssh a key is made for each transfer: none may be typed, and what a file of settings has is for others.
    [[nodiscard]] Result<void> check_no_keys(const CLI::App& app) const;

    [[nodiscard]] Log::Verbosity verbosity() const noexcept;
    [[nodiscard]] TransportConfig transport() const;
    [[nodiscard]] transfer::LinkOptions link(TransportConfig config) const;
    /// To one of the peer's addresses.
    [[nodiscard]] transfer::DialOptions dial(TransportConfig config, std::vector<Address> peer) const;
    /// For a side that dials again: its patience is for more than one connection.
    void leave_time_to_reconnect(TransportConfig& config) const;
    /// What of it the other side is to be started with over ssh.
    [[nodiscard]] std::vector<std::string> for_other_side() const;
    /// For reports: what --cc names, or "low" where that policy has a controller of its own.
    [[nodiscard]] std::string congestion_in_use() const;

  private:
    Result<void> check_rates();
};

/// The error of a key file, with the option that named it.
[[nodiscard]] Error key_error(Error error, const std::string& option);
Result<Credentials> load_credentials(const CommonOptions& options);
/// Opens the file of --log, if there is to be one.
[[nodiscard]] Result<void> open_log(Log& log, const CommonOptions& options);

}  // namespace udtx::apps
