#include "io/lanes.hpp"

#include <utility>

namespace udtx::io {

// What is left to the protocol thread is almost half of its work (docs/performance.md): two lanes are ahead of it. One
// takes a processor from the threads that read or write files, unless there are some to spare.
std::size_t streams_for(std::size_t processors) noexcept {
    if (processors < 4) return 1;
    return processors < 8 ? 2 : 3;
}

Lanes::Lanes(DatagramSocket& socket, std::size_t lanes, std::size_t batch_bytes, Calls calls)
    : send(socket, lanes, batch_bytes,
           {.work = [this] { crew_.call(1); }, .room = std::move(calls.room), .too_large = std::move(calls.too_large)}),
      open(std::move(calls.plan), [this](std::size_t wanted) { crew_.call(wanted); }),
      crew_(lanes, [this](std::size_t lane) {
          const bool opened = open.work(lane);
          return send.work(lane) || opened;
      }) {}

}  // namespace udtx::io
