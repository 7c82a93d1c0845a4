// Where what is received goes, as the protocol thread asks for it, operation by operation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/job_report.hpp"
#include "transfer/landing/basis_files.hpp"
#include "transfer/landing/disk_quota.hpp"
#include "transfer/landing/receive_feedback.hpp"
#include "transfer/landing/receive_ops.hpp"

namespace udtx::transfer {

/// What a landing shares with its job, which outlives it: what it finds is reported here and told to the sender.
struct LandingLinks {
    const ReceiveQueue& queue;  ///< that it was closed
    ReceiveFeedback& feedback;
    JobReport& report;

    void answer(message::Answer answer) const;
    void erased(const std::string& path) const;
    /// Warns the users of both ends.
    void note(const std::string& text) const;
    void failed(std::uint64_t index, const std::string& path, const Error& error) const;
    void unchanged(EntryType type) const;
    void skipped(EntryType type) const;
    /// Bytes that were there were read. False: there is no time for more.
    bool checked(std::uint64_t bytes) const;
    /// The protocol thread is to look: DELIVERED may have grown, or there is room for more.
    void wake() const;
    void confirm(const message::Confirm& confirm) const;
    /// Nothing more can be taken.
    void fatal(const Error& error) const;
};

/// Where a transfer lands. One thread at a time, and none of its calls waits for the sender. Destroyed, it has cleaned
/// up.
class Landing {
  public:
    Landing() = default;
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;
    virtual ~Landing() = default;
    /// False: somebody else has to finish first; to be asked again in a little while.
    [[nodiscard]] virtual bool begun() { return true; }
    /// Once it has begun.
    virtual void take(ReceiveOp op) = 0;
    /// A part of what the operation taken last has left; false: nothing is left.
    virtual bool go_on() { return false; }
    /// Memory that the sender made it remember.
    [[nodiscard]] virtual std::uint64_t held() const { return 0; }
};

/// What the receiver's owner lets senders do.
struct TreeRights {
    bool resume = true;
    Overwrite overwrite = Overwrite::always;  ///< the stricter of this and the sender's
    bool announce_all = false;                ///< senders are to name files that are the same, too
    bool plan_told = false;     ///< of a dry run: the sender says what it found out, and that is what counts
    RoomLimits room{};          ///< of the disk
    bool keep_base = false;     ///< mode, owner and time of the base itself stay
    bool allow_set_id = false;  ///< set-user-ID and set-group-ID bits of files are kept where the sender says so

    [[nodiscard]] bool keeps_set_id(const message::Offer& offer) const noexcept {
        return offer.preserve && offer.set_id && allow_set_id;
    }
    [[nodiscard]] BasisOptions basis_options(const message::Offer& offer) const;
};

/// A file, or another name of one.
[[nodiscard]] constexpr bool has_content(EntryType type) noexcept {
    return type == EntryType::file || type == EntryType::hard_link;
}
/// For names of temporary files.
[[nodiscard]] std::uint64_t random_number();
/// Something besides our own files is in it.
[[nodiscard]] bool holds_anything(const ConfinedDir& directory);
[[nodiscard]] bool holds_anything(const std::vector<std::string>& names);
/// What the receiver has at the end, for CONFIRM.
[[nodiscard]] message::Totals totals_of(const JobReport& report);

}  // namespace udtx::transfer
