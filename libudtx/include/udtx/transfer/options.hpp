// What a transfer is told beforehand, for each of the ways in which it may come about.
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

/// Of whoever sends files.
struct SendOptions {
    Selection what{};
    /// Path below the receiver's directory; of a stream it names the file. Leading and trailing slashes are ignored.
    std::string destination{};
    int stream_fd = 0;   ///< what the source "-" is read from; it is not closed
    bool resume = true;  ///< continue what an earlier run of the same transfer left, and leave something for a later
    /// Of which transfer this is a run (transfer_number()). 0: that of the sources as they stand and the destination.
    std::uint64_t transfer = 0;
    std::optional<SentFiles> sent{};
    std::optional<ReceiptFile> receipt{};
    bool fresh = false;      ///< as Transfer::presume_fresh(), from the beginning
    PlanCallback planned{};  ///< of a dry run, and what was deleted
};

/// Of whoever fetches files from a server: what is asked for, and where it goes.
struct ReceiveOptions {
    Selection what{};                ///< sources: paths below the server's directory
    std::string destination = ".";   ///< as scp and cp take it (destination.hpp)
    std::optional<int> stream_fd{};  ///< the one source is written there instead, and no file is touched; not closed
    bool resume = true;
    /// As in SendOptions; 0: that of host, port, sources and destination.
    std::uint64_t transfer = 0;
    /// The sender is no server: it was started for this transfer by other means, with pack(what), and understands
    /// sources as patterns of a shell. Nobody there waits for the end of the connection.
    bool sender_started = false;
    std::optional<ReceiptFile> receipt{};
    PlanCallback planned{};
};

class DiskQuota;

/// At most so many bytes on disk below one directory, whatever brings them: one account for all transfers that share
/// it. Copies are the same account.
class UDTX_EXPORT Quota {
  public:
    explicit Quota(std::uint64_t bytes);
    /// For the library's own code.
    [[nodiscard]] const std::shared_ptr<DiskQuota>& account() const noexcept { return account_; }

  private:
    std::shared_ptr<DiskQuota> account_;
};

/// Of whoever takes what somebody else sends: where that goes, and what the sender may do there.
struct LandingOptions {
    std::string
        directory{};       ///< nothing is written outside of it; must exist, but for a dry run, where it may be empty
    std::string below{};   ///< of it, what is really meant: a directory to which no link leads. Empty: all of it
    std::string rename{};  ///< the one source that comes gets this name; empty: it keeps its own
    std::optional<int> stream_fd{};  ///< the one incoming stream is written there, and no file is touched; not closed
    bool resume = true;              ///< continue what an earlier run left, and leave something for a later one
    bool dry_run = false;            ///< that is what was asked for
    bool allow_erase = false;        ///< the sender may have deleted what it does not have
    bool allow_set_id = false;       ///< the sender may have set-user-ID and set-group-ID bits set
    bool keep_base = false;          ///< the sender may not set mode, owner and time of `directory` itself
    Overwrite overwrite = Overwrite::always;  ///< the stricter of this and the sender's
    std::uint64_t min_free = 0;               ///< bytes of the disk that are to stay free
    std::optional<Quota> quota{};
    /// Transfer numbers are this sender's (Client::identity); 0: all have the one key.
    std::uint64_t whose = 0;
    std::optional<ReceiptFile> receipt{};
    PlanCallback planned{};
};

/// Of whoever gives what somebody else asks for.
struct OfferOptions {
    std::string directory{};  ///< nothing is read outside of it; links in it are not followed
    std::string below{};      ///< of it, what is really meant: a directory to which no link leads. Empty: all of it
};

}  // namespace udtx::transfer
