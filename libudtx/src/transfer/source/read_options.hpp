// How the sources are read and told.
#pragma once

#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/source/sent_names.hpp"
#include "udtx/transfer/plan.hpp"

namespace udtx::transfer {

struct ReadOptions {
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    bool owner = false;       ///< send the numbers of user and group
    bool attributes = false;  ///< send the user's extended attributes
    bool preserve = false;    ///< modes are to be kept: what of them never is is told
    bool dry_run = false;     ///< ask about everything, send nothing
    PlanCallback planned{};   ///< of a dry run
    /// Sent before the end.
    std::vector<message::Rules> rules{};
    bool announce_all = false;  ///< also files that are the same at the receiver, for a receipt
    SentNames* sent = nullptr;  ///< of all connections; outlives the reader
    bool hard_links = false;    ///< other names of a file come as such
    bool set_id = false;        ///< special bits of files are kept
    bool tops = false;          ///< a source whose content goes has its mode, time and owner sent, too
    /// The receiver asked for the transfer: it is told of a plan, and of what is left out.
    bool asked_for = false;
};

}  // namespace udtx::transfer
