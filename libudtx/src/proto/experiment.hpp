// What only experiments and tests change of a connection. No application needs to know it.
#pragma once

#include "udtx/ids.hpp"

namespace udtx::proto {

struct Experiment {
    /// Thresholds of the congestion degree (controller `cd`), 0 to 1.
    double cd_alpha = 0.3;
    double cd_beta = 0.7;
    /// `udt` and `cd` by the equations that the congestion-degree paper prints, not by UDT 4.11's
    /// (docs/lab/controllers.md, `cd`).
    bool udt_as_printed = false;
    /// An acknowledgement of what was sent before a path fell silent says nothing about what the path does now. Off:
    /// it counts like any other, as in SCTP before its repair (docs/inside/acknowledgements.md).
    bool silent_path_rule = true;
    /// Where ACKs are sparse window-based controllers hear of a stretch ACK's packets one by one while they probe, and
    /// pace by the interval of ACKs, too.
    bool regenerate_acks = true;
    /// Of each path, the same at both ends: other than 0 for numbers that wrap.
    PacketNumber first_number = 0;
};

}  // namespace udtx::proto
