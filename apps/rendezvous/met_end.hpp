// The other end of a transfer that was met with a code: which addresses lead to it through the NATs of both ends, and
// a stream to it through the relay.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rendezvous/ciphers.hpp"
#include "rendezvous/code.hpp"
#include "rendezvous/mailbox.hpp"
#include "udtx/address.hpp"
#include "udtx/carrier.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// What an end tells the other one about itself, as lines "NAME VALUE". A reader skips names that it does not know.
struct EndAddresses {
    std::optional<Address> seen;  ///< of the UDP socket, as the relay sees it
    std::vector<Address> own;     ///< of the interfaces, with the port of the socket

    [[nodiscard]] std::string to_text() const;
    [[nodiscard]] static EndAddresses parse(std::string_view text);
    /// Where to reach the other end, in this order. `here`: addresses of this host, which are not tried, because
    /// virtual networks have the same addresses on many hosts.
    [[nodiscard]] std::vector<Address> to_try(std::span<const Address> here) const;
};

/// Both ends learn from the relay how their UDP sockets look from outside, and tell each other. Then they send to each
/// other at the same time, so that each NAT takes the datagrams of the other end for answers (RFC 5128, section 3.3).
/// The addresses are not trusted: the handshake of the connection uses key().
class MetEnd {
  public:
    /// How long an end waits for the other one, which has left the relay and may still come directly.
    static constexpr Duration kWithoutRelay = std::chrono::seconds(30);

    /// The end that sends. Waits for the other end while the code is valid, or until the descriptor `stop` is readable.
    /// `tell` gets the code, `wrong_code` the number of attempts that are left. Errors as those of Mailbox.
    [[nodiscard]] static Result<std::unique_ptr<MetEnd>> await(const std::vector<Address>& relay,
                                                               const std::function<void(const Code&)>& tell,
                                                               const std::function<void(std::size_t left)>& wrong_code,
                                                               int stop);
    /// The end that receives.
    [[nodiscard]] static Result<std::unique_ptr<MetEnd>> reach(const std::vector<Address>& relay, const Code& code,
                                                               int stop);
    /// Leaves the relay.
    ~MetEnd();
    MetEnd(const MetEnd&) = delete;
    MetEnd& operator=(const MetEnd&) = delete;

    [[nodiscard]] const Secret32& key() const noexcept { return key_; }
    /// Addresses of the other end, to try in this order; empty: only the relay leads there.
    [[nodiscard]] const std::vector<Address>& addresses() const noexcept { return addresses_; }
    [[nodiscard]] const Address& relay() const noexcept { return relay_; }
    /// The UDP socket to use, which this object keeps.
    [[nodiscard]] int socket() const noexcept { return socket_.fd.get(); }

    /// Starts the thread that moves the bytes between relay and channel(), and goes on to open the NATs. no_resources:
    /// the process has no thread left.
    [[nodiscard]] Result<void> start();
    [[nodiscard]] const std::shared_ptr<Channel>& channel() const noexcept { return channel_; }
    /// True if the relay's stream has ended: the other end has left, or the relay.
    [[nodiscard]] bool over() const noexcept { return over_; }

  private:
    MetEnd(Mailbox mailbox, BoundSocket socket)
        : relay_(mailbox.link().relay()), mailbox_(std::move(mailbox)), socket_(std::move(socket)) {}
    [[nodiscard]] static Result<std::unique_ptr<MetEnd>> meet(Mailbox mailbox, bool sends, const Patience& patience);
    [[nodiscard]] Result<void> open_channel();
    /// The address of the socket from outside; nullopt: the relay does not answer over UDP.
    [[nodiscard]] std::optional<Address> observe(const Patience& patience);
    /// Opens the NATs, and adds the addresses from which the other end comes.
    void punch(const Patience& patience);
    void knock(const Address& at) const;
    void knock_at_all() const;
    /// Waits for a datagram until then, and stops early if the patience says so. Empty: none came.
    struct Arrived {
        Address from;
        std::vector<std::byte> bytes;
    };
    [[nodiscard]] std::optional<Arrived> next(Instant until, const Patience& patience) const;
    void send(const Address& to, std::span<const std::byte> datagram) const;

    /// On the thread.
    void run();
    /// One turn: waits, then moves what can be moved. False: the stream is over.
    [[nodiscard]] bool turn(Instant next_knock);
    [[nodiscard]] bool take_from_relay();
    [[nodiscard]] bool take_from_channel();

    Address relay_;
    Mailbox mailbox_;
    BoundSocket socket_;
    Secret32 key_;
    std::vector<Address> addresses_;
    std::vector<std::byte> knock_;        // what this end sends to open the NATs ...
    std::vector<std::byte> other_knock_;  // ... and the other one

    std::shared_ptr<Channel> channel_;
    UniqueFd inner_;                      // our end of the channel
    std::vector<std::byte> for_channel_;  // not yet written there
    UniqueFd stop_read_;
    UniqueFd stop_write_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

}  // namespace udtx::apps
