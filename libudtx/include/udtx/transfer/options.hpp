// Options of a transfer: for sending, for fetching, and for answering the two.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// What to send, and where to store it.
struct SendOptions {
    Selection what{};  ///< the sources, and how to send them
    /// Path below the receiver's directory. For a stream it is the name of the file. Slashes at both ends are ignored.
    std::string destination{};
    int stream_fd = 0;   ///< descriptor from which the source "-" is read; it stays open
    bool resume = true;  ///< true: continue an earlier run of the same transfer, and let a later run continue this one
    /// Transfer number of this run. 0: transfer_number() of the sources and the destination.
    std::uint64_t transfer = 0;
    std::optional<SentFiles> sent{};       ///< what earlier connections have sent, for a program that reconnects
    std::optional<ReceiptFile> receipt{};  ///< receipt to write
    bool fresh = false;                    ///< calls Transfer::presume_fresh() at the start
    PlanCallback planned{};                ///< reports what a dry run would do, and what was deleted
    std::vector<FailedFile> missing{};     ///< sources that were not found and that the receiver should know of
};

/// What to fetch, and where to store it.
struct ReceiveOptions {
    Selection what{};               ///< its sources are paths below the server's directory
    std::string destination = ".";  ///< destination by the rules of scp and cp, see find_landing()
    /// Descriptor to which the only source is written instead of a file; it stays open.
    std::optional<int> stream_fd{};
    bool resume = true;  ///< see SendOptions::resume
    /// Transfer number of this run. 0: transfer_number() of host, port, sources and destination.
    std::uint64_t transfer = 0;
    /// True if the sender is not a server: it was started for this transfer and got pack(what), see await_receiver().
    /// Its sources are shell patterns.
    bool sender_started = false;
    std::optional<ReceiptFile> receipt{};  ///< receipt to write
    PlanCallback planned{};                ///< reports what a dry run would do, and what was deleted
};

class DiskQuota;

/// A disk quota below one directory, for all transfers that share it. Copies refer to the same account.
class UDTX_EXPORT Quota {
  public:
    /// Allows at most `bytes`, counted as `du` counts.
    explicit Quota(std::uint64_t bytes);
    /// True if both refer to the same account.
    friend bool operator==(const Quota&, const Quota&) noexcept = default;

  private:
    friend struct udtx::StateAccess;
    std::shared_ptr<DiskQuota> state_;
};

/// Where to store what another end sends, and what that end may do.
struct LandingOptions {
    /// Base directory: nothing outside of it is written. It must exist. For a dry run it may be empty.
    std::string directory{};
    std::string below{};   ///< existing directory inside `directory` to use instead; no symbolic link may lead to it
    std::string rename{};  ///< new name of the only source that arrives; empty: its own name
    /// Descriptor to which the only stream is written instead of a file; it stays open.
    std::optional<int> stream_fd{};
    bool resume = true;                       ///< true: continue an earlier run, and let a later run continue this one
    bool dry_run = false;                     ///< true: the sender has requested a dry run by other means
    bool allow_erase = false;                 ///< the sender may delete files that it does not have
    bool allow_set_id = false;                ///< the sender may set the set-user-ID and set-group-ID bits
    bool keep_base = false;                   ///< keep mode, owner and time of `directory` itself
    Overwrite overwrite = Overwrite::always;  ///< the stricter of this value and the sender's value applies
    std::uint64_t min_free = 0;               ///< disk space to keep free, bytes
    std::optional<Quota> quota{};             ///< disk quota; nullopt: no limit
    std::uint64_t whose = 0;                  ///< Client::identity; it keeps the transfers of different keys apart
    std::optional<ReceiptFile> receipt{};     ///< receipt to write
    PlanCallback planned{};                   ///< reports what a dry run would do, and what was deleted
};

/// From which directory to serve what another end requests.
struct OfferOptions {
    std::string directory{};  ///< nothing outside of it is read, and symbolic links inside it are not followed
    std::string below{};      ///< existing directory inside `directory` to use instead; no symbolic link may lead to it
};

}  // namespace udtx::transfer
