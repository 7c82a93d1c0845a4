// Real endpoints on a simulated link in memory, in virtual time. The target decides whether each datagram arrives, is
// lost or is reordered, so the same input has the same result each time.
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

/// The real packet protection.
[[nodiscard]] crypto::Provider& provider();
/// Replaces the TLS handshake: it carries the transport parameters of both ends and a final byte from the client, and
/// always exports the same secret. TLS draws random numbers and takes ten times as long as the rest of a run, and the
/// targets do not test it.
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
    /// Removes and returns one of the waiting datagrams, chosen by the number modulo their count. At least one must
    /// wait.
    [[nodiscard]] Datagram take(std::size_t which);
    [[nodiscard]] Datagram& look(std::size_t which) { return waiting_[which % waiting_.size()]; }
    void arrive(Datagram datagram);
    void pass(Duration time);
    /// Delivers all datagrams in order and advances the time from alarm to alarm, for at most `most` or until `done`.
    void settle(Duration most, const std::function<bool()>& done = {});

  private:
    friend class LineHost;
    static constexpr std::size_t kMostWaiting = 512;  // further datagrams are lost

    Instant now_{std::chrono::hours(1)};
    std::deque<Datagram> waiting_;
    std::multimap<Instant, std::function<void()>> agenda_;
    std::map<std::uint8_t, LineHost*> hosts_;
};

/// Returns 10.0.0.NUMBER with the port.
[[nodiscard]] Address address_of(std::uint8_t number, std::uint16_t port = 7000);

class LineHost final : public sim::ProtocolHost {
  public:
    LineHost(Line& line, std::uint8_t number, crypto::Provider& provider);
    /// Gives the host a second address.
    void add_number(std::uint8_t number) { line_.hosts_[number] = this; }
    /// Packets that are sent from now on have this source port, as after a NAT rebinding.
    void move(std::uint16_t port) noexcept { port_ = port; }
    void take_in(Line::Datagram datagram) { receive(datagram.to, datagram.from, datagram.bytes); }

  private:
    [[nodiscard]] Instant now() const override { return line_.now_; }
    void send(const Address& from, const Address& to, std::span<const std::byte> datagram, proto::Ecn ecn) override;
    void set_alarm(Instant at, std::uint64_t tag) override;
    void call_at(Instant at, std::function<void()> action) override { line_.agenda_.emplace(at, std::move(action)); }

    Line& line_;
    std::uint16_t port_ = 7000;
};

}  // namespace udtx::fuzz
