// What a transfer is told beforehand: to send, to fetch, to take what comes, to give what is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "udtx/export.hpp"
#include "udtx/transfer/plan.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// What to send, and where to.
struct SendOptions {
    Selection what{};  ///< the sources, and how they are sent
    /// Path below the receiver's directory; of a stream it names the file. Slashes at both ends do not count.
    std::string destination{};
    int stream_fd = 0;   ///< what the source "-" is read from; stays open
    bool resume = true;  ///< continue an earlier run of the same transfer, and let a later one continue this one
    /// Number of the transfer that this is a run of. 0: transfer_number() of the sources and the destination.
    std::uint64_t transfer = 0;
    std::optional<SentFiles> sent{};       ///< what earlier connections have sent, for a program that dials again
    std::optional<ReceiptFile> receipt{};  ///< to be written
    bool fresh = false;                    ///< as Transfer::presume_fresh(), from the start
    PlanCallback planned{};                ///< told what a dry run would do, and what was deleted
};

/// What to fetch, and where to.
struct ReceiveOptions {
    Selection what{};                ///< its sources are paths below the server's directory
    std::string destination = ".";   ///< as scp and cp take it, see destination.hpp
    std::optional<int> stream_fd{};  ///< write the one source there, and touch no file; stays open
    bool resume = true;              ///< as SendOptions::resume
    /// Number of the transfer that this is a run of. 0: transfer_number() of host, port, sources and destination.
    std::uint64_t transfer = 0;
    /// The sender is no server: it was started for this transfer and was given pack(what), see await_receiver(). Its
    /// sources are patterns of a shell.
    bool sender_started = false;
    std::optional<ReceiptFile> receipt{};  ///< to be written
    PlanCallback planned{};                ///< told what a dry run would do, and what was deleted
};

class DiskQuota;

/// A limit of bytes on disk below one directory, for all transfers that share it. Copies mean the same account.
class UDTX_EXPORT Quota {
  public:
    /// At most `bytes`, counted as `du` counts.
    explicit Quota(std::uint64_t bytes);
    /// For the library's own code.
    [[nodiscard]] const std::shared_ptr<DiskQuota>& account() const noexcept { return account_; }

  private:
    std::shared_ptr<DiskQuota> account_;
};

/// Where to put what another end sends, and what that end may do.
struct LandingOptions {
    /// Nothing is written outside of it. It has to exist; for a dry run it may be empty.
    std::string directory{};
    std::string below{};                      ///< a directory in it to use instead: it exists, and no link leads there
    std::string rename{};                     ///< new name of the one source that comes; empty: its own
    std::optional<int> stream_fd{};           ///< write the one stream that comes there, and touch no file; stays open
    bool resume = true;                       ///< continue an earlier run, and let a later one continue this one
    bool dry_run = false;                     ///< the sender asked for a dry run by other means
    bool allow_erase = false;                 ///< let the sender delete what it does not have
    bool allow_set_id = false;                ///< let the sender set set-user-ID and set-group-ID bits
    bool keep_base = false;                   ///< keep mode, owner and time of `directory` itself
    Overwrite overwrite = Overwrite::always;  ///< the stricter of this and the sender's holds
    std::uint64_t min_free = 0;               ///< bytes of the disk to keep free
    std::optional<Quota> quota{};             ///< what may be used; nullopt: no limit
    std::uint64_t whose = 0;                  ///< Client::identity, so that transfers of two keys are never one
    std::optional<ReceiptFile> receipt{};     ///< to be written
    PlanCallback planned{};                   ///< told what a dry run would do, and what was deleted
};

/// From where to give what another end asks for.
struct OfferOptions {
    std::string directory{};  ///< nothing is read outside of it, and links in it are not followed
    std::string below{};      ///< a directory in it to use instead: it exists, and no link leads there
};

}  // namespace udtx::transfer
