// Settings of connections that only tests and benchmarks change.
#pragma once

#include "udtx/core/endpoint.hpp"
#include "udtx/ids.hpp"

namespace udtx::proto {

struct Experiment {
    /// Thresholds of the congestion degree (controller `cd`), 0 to 1.
    double cd_alpha = 0.3;
    double cd_beta = 0.7;
    /// `udt` and `cd` use the equations that the congestion-degree paper prints, instead of those of UDT 4.11
    /// (docs/lab/controllers.md, `cd`).
    bool udt_as_printed = false;
    /// An acknowledgement of data sent before a path failed says nothing about the path's present state. false: it
    /// counts like any other, as in SCTP before its correction (docs/inside/acknowledgements.md).
    bool silent_path_rule = true;
    /// If ACKs are sparse, window-based controllers that probe are told of a stretch ACK's packets one by one. They
    /// also pace by the interval of ACKs.
    bool regenerate_acks = true;
    /// First packet number of each path, the same at both ends. Values other than 0 test numbers that wrap.
    PacketNumber first_number = 0;

    /// Gives the settings to connections that the endpoint makes from now on.
    void apply_to(Endpoint& endpoint) const;
};

}  // namespace udtx::proto
