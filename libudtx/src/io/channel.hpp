// What the library reads from a Channel.
#pragma once

#include <memory>

#include "io/stream_carrier.hpp"
#include "udtx/carrier.hpp"

namespace udtx {

struct ChannelAccess {
    [[nodiscard]] static const std::shared_ptr<io::StreamCarrier>& carrier(const Channel& channel) {
        return channel.carrier_;
    }
};

}  // namespace udtx
