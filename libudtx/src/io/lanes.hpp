// Threads that relieve the protocol thread of encryption and sending (docs/inside/architecture.md).
#pragma once

#include <cstddef>

#include "io/crew.hpp"
#include "io/open_lanes.hpp"
#include "io/send_lanes.hpp"

namespace udtx::io {

/// Most threads that may handle packets, including the protocol thread.
inline constexpr std::size_t kMaxThreads = 16;

class Lanes {
  public:
    struct Calls {
        std::function<void()> room;                                               ///< see SendLanes::Calls
        std::function<void(const proto::Transmit&, const SendResult&)> not_sent;  ///< see SendLanes::Calls
        OpenLanes::Plan plan;
    };
    Lanes(DatagramSocket& socket, std::size_t lanes, std::size_t batch_bytes, Calls calls);
    ~Lanes() { send.stop(); }
    Lanes(const Lanes&) = delete;
    Lanes& operator=(const Lanes&) = delete;

    SendLanes send;
    OpenLanes open;

  private:
    Crew crew_;  // last member: its threads end first
};

}  // namespace udtx::io
