// How the sources are read and announced.
#pragma once

#include <vector>

#include "transfer/message/messages.hpp"
#include "transfer/source/sent_names.hpp"
#include "udtx/transfer/plan.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

struct ReadOptions : Selection {
    PlanCallback planned{};                     ///< gets the plan of a dry run
    std::vector<message::Rules> erase_rules{};  ///< sent before everything else
    bool announce_all = false;                  ///< also files that are the same at the receiver, for a receipt
    SentNames* sent = nullptr;                  ///< of all connections; outlives the reader
    bool tops = false;  ///< for a source whose contents are sent: send its mode, time and owner too
    /// The receiver requested the transfer: it gets the plan of a dry run, and a report of what is left out.
    bool asked_for = false;
    /// The round-trip time is long: small files are sent before the receiver has said what it has of them.
    bool far = false;
};

}  // namespace udtx::transfer
