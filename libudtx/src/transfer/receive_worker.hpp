// The receiver's writer thread: takes operations from the queue until it is closed.
#pragma once

#include <functional>
#include <optional>

#include "transfer/confined_dir.hpp"
#include "transfer/job_report.hpp"
#include "transfer/receive_feedback.hpp"
#include "transfer/receive_ops.hpp"
#include "transfer/stop_event.hpp"
#include "transfer/tree_writer.hpp"
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

/// Writes a tree below `base` as the offer says. Returns when the queue is closed and everything is cleaned up.
void run_tree_worker(const ConfinedDir& base, const message::Offer& offer, bool resume, const WorkerLinks& links);
/// Writes a stream to the file that the offer names.
void run_file_worker(const ConfinedDir& base, const message::Offer& offer, const WorkerLinks& links);
/// Drops a stream.
void run_probe_worker(const WorkerLinks& links);
/// Writes a stream to a descriptor.
void run_pipe_worker(int fd, const message::Offer& offer, const WorkerLinks& links);

}  // namespace udtx::transfer
