// The receiver's writer thread: takes operations from the queue until it is closed.
#pragma once

#include <functional>
#include <optional>

#include "transfer/file/confined_dir.hpp"
#include "transfer/job_report.hpp"
#include "transfer/landing/receive_feedback.hpp"
#include "transfer/landing/receive_ops.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/stop_event.hpp"
#include "transfer/work_clock.hpp"

namespace udtx::transfer {

/// What the worker shares with its job; all of it outlives the worker.
struct WorkerLinks {
    ReceiveQueue& queue;
    ReceiveFeedback& feedback;
    JobReport& report;
    StopEvent& stop;
    WorkClock& work;  ///< runs while something is being written
};

/// What the receiver's owner lets senders do.
struct TreeRights {
    bool resume = true;
    Overwrite overwrite = Overwrite::always;  ///< the stricter of this and the sender's
    bool announce_all = false;                ///< senders are to name files that are the same, too
    bool plan_told = false;  ///< of a dry run: the sender says what it found out, and that is what counts
};

/// Writes a tree below `base` as the offer says. Returns when the queue is closed and everything is cleaned up.
void run_tree_worker(const ConfinedDir& base, const message::Offer& offer, const TreeRights& rights,
                     const WorkerLinks& links);
/// Answers for a tree and writes nothing. `base`: null if there is no such directory.
void run_dry_worker(const ConfinedDir* base, const message::Offer& offer, const TreeRights& rights,
                    const WorkerLinks& links);
/// Something besides our own files is in it.
[[nodiscard]] bool holds_anything(const ConfinedDir& directory);
[[nodiscard]] bool holds_anything(const std::vector<std::string>& names);
[[nodiscard]] BasisOptions basis_options(const message::Offer& offer, const TreeRights& rights);
void count_unchanged(JobReport& report, EntryType type);
void count_skipped(JobReport& report, EntryType type);
/// Hands an answer, or the name of a deleted entry, to the protocol thread; waits while it has enough of them.
void hand_over(const WorkerLinks& links, message::Answer answer);
void hand_over_erased(const WorkerLinks& links, const std::string& path);
/// Notes what was not delivered, and has the sender told.
void hand_over_failure(const WorkerLinks& links, std::uint64_t index, const std::string& path, const Error& error);
/// What the receiver has at the end, for CONFIRM.
[[nodiscard]] message::Totals totals_of(const JobReport& report);
/// Writes a stream to the file that the offer names; refuses it if something stands there that is to stay.
void run_file_worker(const ConfinedDir& base, const message::Offer& offer, const TreeRights& rights,
                     const WorkerLinks& links);
/// Drops a stream.
void run_probe_worker(const WorkerLinks& links);
/// Writes a stream to a descriptor.
void run_pipe_worker(int fd, const message::Offer& offer, const WorkerLinks& links);

}  // namespace udtx::transfer
