// How an end learns the address from which the relay sees its UDP socket, and gets its datagrams there.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "rendezvous/messages.hpp"

namespace udtx::apps {

/// The BINDs of one UDP socket. The caller sends request() to the relay: at once, soon after each time on_datagram()
/// returns `again`, and then every 15 s or so, because a NAT may forget its mapping after 30 s without a datagram (RFC
/// 4787, section 4.3, recommends two minutes). An answer may be lost: repeat request() until observed() has a value.
class Binding {
  public:
    explicit Binding(const Token& token) noexcept : bind_{.token = token} {}

    [[nodiscard]] std::array<std::byte, Bind::kBytes> request() const { return encode(bind_); }

    enum class Answer {
        foreign,  ///< not an answer to this BIND: for another reader of the socket
        again,    ///< the relay has given the proof: send request() once more
        bound,
    };
    Answer on_datagram(std::span<const std::byte> datagram) {
        const auto answer = parse_bind_answer(datagram);
        if (!answer || answer->token != bind_.token) return Answer::foreign;
        bind_.proof = answer->proof;
        if (!answer->bound) return Answer::again;
        observed_ = answer->observed;
        return Answer::bound;
    }
    /// The address of this socket, as the relay sees it; nullopt: not known yet.
    [[nodiscard]] const std::optional<Address>& observed() const noexcept { return observed_; }

  private:
    Bind bind_;
    std::optional<Address> observed_{};
};

}  // namespace udtx::apps
