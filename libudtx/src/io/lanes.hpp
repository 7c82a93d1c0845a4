// The threads that take cipher work and sending off the protocol thread (docs/inside/architecture.md).
#pragma once

#include <cstddef>

#include "io/crew.hpp"
#include "io/open_lanes.hpp"
#include "io/send_lanes.hpp"

namespace udtx::io {

/// Threads that packets pass through, the protocol thread among them.
inline constexpr std::size_t kMaxThreads = 16;

class Lanes {
  public:
    struct Calls {
        std::function<void()> room;                                               ///< of SendLanes
        std::function<void(const proto::Transmit&, const SendResult&)> not_sent;  ///< of SendLanes
        OpenLanes::Plan plan;
    };
    Lanes(DatagramSocket& socket, std::size_t lanes, std::size_t batch_bytes, Calls calls);
    ~Lanes() { send.stop(); }
    Lanes(const Lanes&) = delete;
    Lanes& operator=(const Lanes&) = delete;

    SendLanes send;
    OpenLanes open;

  private:
    Crew crew_;  // last: its threads end first
};

}  // namespace udtx::io
