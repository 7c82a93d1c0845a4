// Real endpoints on a line in memory, in virtual time. What is on the line arrives, is lost or comes in another order
// as the target says: the same input does the same each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "sim/protocol_host.hpp"
#include "udtx/core/crypto.hpp"

namespace udtx::fuzz {

/// Real packet protection.
[[nodiscard]] crypto::Provider& provider();
/// The transport parameters each way and a last word of the client's, and always the same secret: TLS draws random
/// numbers and takes ten times as long as all the rest. It is not what the targets look at.
[[nodiscard]] crypto::HandshakeFactory& plain_handshakes();

class LineHost;

class Line {
  public:
    struct Datagram {
        Address from;
        Address to;
        std::vector<std::byte> bytes;
    };

    [[nodiscard]] Instant now() const noexcept { return now_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
    /// Of what waits, the one that the number chooses; there is one.
    [[nodiscard]] Datagram take(std::size_t which);
    [[nodiscard]] Datagram& look(std::size_t which) { return waiting_[which % waiting_.size()]; }
    void arrive(Datagram datagram);
    void pass(Duration time);
    /// Lets all arrive in order, and time pass to the next alarm, for so long at most or until `done`.
    void settle(Duration most, const std::function<bool()>& done = {});

  private:
    friend class LineHost;
    static constexpr std::size_t kMostWaiting = 512;  // further ones are lost

    Instant now_{std::chrono::hours(1)};
    std::deque<Datagram> waiting_;
    std::multimap<Instant, std::function<void()>> agenda_;
    std::map<std::uint8_t, LineHost*> hosts_;
};

/// 10.0.0.NUMBER, with any port.
[[nodiscard]] Address address_of(std::uint8_t number, std::uint16_t port = 7000);

class LineHost final : public sim::ProtocolHost {
  public:
    LineHost(Line& line, std::uint8_t number, crypto::Provider& provider);
    /// Another address of it.
    void add_number(std::uint8_t number) { line_.hosts_[number] = this; }
    /// What leaves from now on has this port: a NAT box chose another.
    void move(std::uint16_t port) noexcept { port_ = port; }
    void take_in(Line::Datagram datagram) { receive(datagram.to, datagram.from, datagram.bytes); }

  private:
    [[nodiscard]] Instant now() const override { return line_.now_; }
    void send(const Address& from, const Address& to, std::span<const std::byte> datagram) override;
    void set_alarm(Instant at, std::uint64_t tag) override;
    void call_at(Instant at, std::function<void()> action) override { line_.agenda_.emplace(at, std::move(action)); }

    Line& line_;
    std::uint16_t port_ = 7000;
};

}  // namespace udtx::fuzz
