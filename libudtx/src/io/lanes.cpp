#include "io/lanes.hpp"

#include <utility>

namespace udtx::io {

Lanes::Lanes(DatagramSocket& socket, std::size_t lanes, std::size_t batch_bytes, Calls calls)
    : send(socket, lanes, batch_bytes,
           {.work = [this] { crew_.call(1); }, .room = std::move(calls.room), .not_sent = std::move(calls.not_sent)}),
      open(std::move(calls.plan), [this](std::size_t wanted) { crew_.call(wanted); }),
      crew_(lanes, [this](std::size_t lane) {
          const bool opened = open.work(lane);
          return send.work(lane) || opened;
      }) {}

}  // namespace udtx::io
