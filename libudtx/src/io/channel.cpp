#include "io/channel.hpp"

#include <span>
#include <utility>

#include "os/byte_stream.hpp"

namespace udtx {

Channel::Channel() = default;
Channel::~Channel() = default;

std::shared_ptr<Channel> Channel::make(UniqueFd in, UniqueFd out, std::string_view received) {
    std::shared_ptr<Channel> channel(new Channel());
    Address end;
    end.carrier = Carrier::ssh;
    channel->carrier_ = std::make_shared<io::StreamCarrier>(os::stream_of(std::move(in), std::move(out)), end, end,
                                                            std::as_bytes(std::span(received)));
    return channel;
}

bool Channel::ended() const noexcept { return carrier_->ended(); }

}  // namespace udtx
