// The receiver's disk work: does what the protocol thread asks for, operation by operation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "transfer/file/confined_dir.hpp"
#include "transfer/job_report.hpp"
#include "transfer/landing/basis_files.hpp"
#include "transfer/landing/disk_quota.hpp"
#include "transfer/landing/receive_feedback.hpp"
#include "transfer/landing/receive_ops.hpp"
#include "transfer/stop_event.hpp"

namespace udtx::transfer {

/// What a landing shares with its job; all of it outlives the landing.
struct WorkerLinks {
    const ReceiveQueue& queue;  ///< that it was closed
    ReceiveFeedback& feedback;
    JobReport& report;
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
};

/// Writes a tree below `base` as the offer says.
[[nodiscard]] std::unique_ptr<Landing> land_tree(const ConfinedDir& base, const message::Offer& offer,
                                                 const TreeRights& rights, const WorkerLinks& links);
/// Answers for a tree and writes nothing. `base`: null if there is no such directory.
[[nodiscard]] std::unique_ptr<Landing> land_nowhere(const ConfinedDir* base, const message::Offer& offer,
                                                    const TreeRights& rights, const WorkerLinks& links);
/// Writes a stream to the file that the offer names; refuses it if something stands there that is to stay.
[[nodiscard]] std::unique_ptr<Landing> land_file(const ConfinedDir& base, const message::Offer& offer,
                                                 const TreeRights& rights, const WorkerLinks& links);
/// Drops a stream.
[[nodiscard]] std::unique_ptr<Landing> land_probe(const WorkerLinks& links);
/// Writes a stream to a descriptor; waits for whoever reads it, until `stop`.
[[nodiscard]] std::unique_ptr<Landing> land_pipe(int fd, const message::Offer& offer, const StopEvent& stop,
                                                 const WorkerLinks& links);
/// For names of temporary files.
[[nodiscard]] std::uint64_t random_number();
/// Something besides our own files is in it.
[[nodiscard]] bool holds_anything(const ConfinedDir& directory);
[[nodiscard]] bool holds_anything(const std::vector<std::string>& names);
[[nodiscard]] BasisOptions basis_options(const message::Offer& offer, const TreeRights& rights);
void count_unchanged(JobReport& report, EntryType type);
void count_skipped(JobReport& report, EntryType type);
/// Hands an answer, or the name of a deleted entry, to the protocol thread.
void hand_over(const WorkerLinks& links, message::Answer answer);
void hand_over_erased(const WorkerLinks& links, const std::string& path);
/// Warns the users of both ends.
void note(const WorkerLinks& links, const std::string& text);
/// Notes what was not delivered, and has the sender told.
void hand_over_failure(const WorkerLinks& links, std::uint64_t index, const std::string& path, const Error& error);
/// What the receiver has at the end, for CONFIRM.
[[nodiscard]] message::Totals totals_of(const JobReport& report);

}  // namespace udtx::transfer
