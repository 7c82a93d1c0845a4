// How the sources are read and told.
#pragma once

#include <vector>

#include "transfer/message/messages.hpp"
#include "transfer/source/sent_names.hpp"
#include "udtx/transfer/plan.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

struct ReadOptions : Selection {
    PlanCallback planned{};                     ///< of a dry run
    std::vector<message::Rules> erase_rules{};  ///< sent before anything else
    bool announce_all = false;                  ///< also files that are the same at the receiver, for a receipt
    SentNames* sent = nullptr;                  ///< of all connections; outlives the reader
    bool tops = false;                          ///< a source whose content goes has its mode, time and owner sent, too
    /// The receiver asked for the transfer: it is told of a plan, and of what is left out.
    bool asked_for = false;
    /// A round trip of the connection takes long: small files go before the receiver has said what it has of them.
    bool far = false;
};

}  // namespace udtx::transfer
