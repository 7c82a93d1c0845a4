// Takes the received data. The protocol thread requests one operation after the other.
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

/// The parts of its job that a landing uses. The job outlives it. Results are reported here and to the sender.
struct LandingLinks {
    const ReceiveQueue& queue;  ///< used to ask whether it is closed
    ReceiveFeedback& feedback;
    JobReport& report;

    void answer(message::Answer answer) const;
    void erased(const std::string& path) const;
    /// Warns the users at both ends.
    void note(const std::string& text) const;
    void failed(std::uint64_t index, const std::string& path, const Error& error) const;
    void unchanged(EntryType type) const;
    void skipped(EntryType type) const;
    /// Counts existing bytes that were read. False: there is no time to continue.
    bool checked(std::uint64_t bytes) const;
    /// Wakes the protocol thread: DELIVERED may have grown, or there is room for more.
    void wake() const;
    void confirm(const message::Confirm& confirm) const;
    /// Ends the job: the landing cannot take any more.
    void fatal(const Error& error) const;
};

/// The destination of a transfer. One thread at a time may use it, and no call waits for the sender. The destructor
/// cleans up.
class Landing {
  public:
    Landing() = default;
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;
    virtual ~Landing() = default;
    /// False: another job has to finish first. Call it again in a little while.
    [[nodiscard]] virtual bool begun() { return true; }
    /// Call it only after begun() has returned true.
    virtual void take(ReceiveOp op) = 0;
    /// Does a part of what the latest operation left. False: nothing is left.
    virtual bool go_on() { return false; }
    /// Bytes of memory that the sender makes it hold.
    [[nodiscard]] virtual std::uint64_t held() const { return 0; }
};

/// What the receiver's owner allows senders to do.
struct TreeRights {
    bool resume = true;
    Overwrite overwrite = Overwrite::always;  ///< the stricter of this and the sender's choice applies
    bool announce_all = false;                ///< senders must announce unchanged files too
    bool plan_told = false;                   ///< dry run: the sender reports what would happen, and its counts apply
    RoomLimits room{};                        ///< limits of the disk
    bool keep_base = false;                   ///< the base itself keeps its mode, owner and time
    bool allow_set_id = false;  ///< set-user-ID and set-group-ID bits of files are kept if the sender asks for it

    [[nodiscard]] bool keeps_set_id(const message::Offer& offer) const noexcept {
        return offer.preserve && offer.set_id && allow_set_id;
    }
    [[nodiscard]] BasisOptions basis_options(const message::Offer& offer) const;
};

/// True for a file or another name of one.
[[nodiscard]] constexpr bool has_content(EntryType type) noexcept {
    return type == EntryType::file || type == EntryType::hard_link;
}
/// A random number for names of temporary files.
[[nodiscard]] std::uint64_t random_number();
/// True if there are entries besides this program's own files, or if the directory cannot be read.
[[nodiscard]] bool holds_anything(const ConfinedDir& directory);
[[nodiscard]] bool holds_anything(const std::vector<std::string>& names);
/// What the receiver has at the end, for CONFIRM.
[[nodiscard]] message::Totals totals_of(const JobReport& report);

}  // namespace udtx::transfer
