#include "rendezvous/mailbox.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "rendezvous/spake2.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {
namespace {

constexpr const char* kIdentityA = "udtx sender";
constexpr const char* kIdentityB = "udtx receiver";
constexpr const char* kSalt = "udtx rendezvous 1 ";
// Both directions and the transfer have different keys.
constexpr const char* kFromSender = "udtx rendezvous: sender to receiver";
constexpr const char* kFromReceiver = "udtx rendezvous: receiver to sender";
constexpr const char* kForTransfer = "udtx rendezvous: transfer";
/// An end that joins and then does nothing would keep others out.
constexpr Duration kExchangeTime = std::chrono::seconds(30);
/// A message of a kind from 64 to 127 is skipped, as those of the relay are.
bool is_skipped(std::span<const std::byte> body) {
    return !body.empty() && body.front() >= std::byte{64} && body.front() < std::byte{128};
}

Error out_of_order(const Message& message) {
    return {ErrorCode::protocol,
            "the relay sent " + std::string(name_of(message)) + " out of order: use the same version of udtx there"};
}

bool is_spoken(std::uint8_t version) { return version >= kOldestRendezvousVersion && version <= kRendezvousVersion; }
Error too_old(const std::string& who) {
    return {ErrorCode::protocol, who + " is too old for this version of udtx: install udtx 0.2 or later there"};
}

Error session_over() { return {ErrorCode::network, "the session at the relay has ended: start both ends again"}; }

}  // namespace

struct Mailbox::Seals {
    Sealer out;
    Sealer in;
};

Mailbox::Mailbox(RelayLink link, const Code& code, bool claims)
    : link_(std::move(link)),
      code_(code),
      claims_(claims),
      password_(password_scalar(password_of(code), kSalt + std::to_string(code.number))) {}
Mailbox::~Mailbox() = default;
Mailbox::Mailbox(Mailbox&&) noexcept = default;
Mailbox& Mailbox::operator=(Mailbox&&) noexcept = default;

Error Mailbox::fail(Error error) {
    if (stage_ != Stage::ended) stage_.enter(Stage::ended);
    seals_.reset();
    return error;
}

/// The reason is a text of the relay.
Error Mailbox::refused(const Close& close) const {
    switch (close.code) {
        case CloseReasonCode::unknown_number:
            return {ErrorCode::network,
                    "nobody waits with the number " + std::to_string(code_.number) +
                        " at this relay, or another end came first: compare the code, and start the sender first"};
        case CloseReasonCode::wrong_code:
            return {ErrorCode::authentication,
                    claims_ ? "too many ends have tried this code: start again, and give the new code to the other end"
                            : "the words of the code are wrong: compare them with those at the other end"};
        case CloseReasonCode::other_end:
            return {ErrorCode::network, "the other end has left the relay: start both again"};
        case CloseReasonCode::version:
            return {ErrorCode::protocol, "the relay refuses this version of udtx: " + close.reason};
        default:
            break;
    }
    return {ErrorCode::network, "the relay ended the session: " + close.reason + ": try again later"};
}

Result<Mailbox> Mailbox::claim(const std::vector<Address>& relay, Rng& random, const Patience& patience) {
    auto link = RelayLink::connect(relay, patience);
    if (!link) return link.error();
    if (const auto sent = link->send(Claim{}, patience); !sent) return sent.error();
    const auto answer = link->receive(patience);
    if (!answer) return answer.error();
    const auto* const claimed = std::get_if<Claimed>(&*answer);
    const std::uint32_t number = claimed != nullptr ? claimed->number : 0;
    if (claimed != nullptr && (number < 1 || number > kMaxCodeNumber)) return out_of_order(*answer);
    Mailbox made(std::move(*link), make_code(number, random), true);
    if (const auto* const close = std::get_if<Close>(&*answer)) return made.refused(*close);
    if (claimed == nullptr) return out_of_order(*answer);
    if (!is_spoken(claimed->version)) return too_old("the relay");
    made.token_ = claimed->token;
    made.code_seconds_ = claimed->seconds;
    return made;
}

Result<Mailbox> Mailbox::join(const std::vector<Address>& relay, const Code& code, const Patience& patience) {
    auto link = RelayLink::connect(relay, patience);
    if (!link) return link.error();
    Mailbox made(std::move(*link), code, false);
    if (const auto sent = made.link_.send(Join{kRendezvousVersion, code.number}, patience); !sent) return sent.error();
    if (const auto joined = made.wait_for_join(patience); !joined) return joined.error();
    return made;
}

Result<void> Mailbox::wait_for_join(const Patience& patience) {
    for (;;) {
        auto message = link_.receive(patience);
        if (!message) return fail(message.error());
        if (const auto* const joined = std::get_if<Joined>(&*message)) {
            if (!is_spoken(joined->version)) return fail(too_old("the relay or the other end"));
            join_ = joined->join;
            // The end that has claimed keeps its token.
            if (!claims_) token_ = joined->token;
            stage_.enter(Stage::joined);
            return {};
        }
        // What an end sent before it left.
        if (std::holds_alternative<Left>(*message) || (claims_ && std::holds_alternative<Peer>(*message))) continue;
        if (auto taken = take(std::move(*message)); !taken) return taken.error();
    }
}

Message Mailbox::peer_message(Kind kind, std::span<const std::byte> body) const {
    Peer peer{.join = join_};
    peer.body.reserve(body.size() + 1);
    peer.body.push_back(static_cast<std::byte>(kind));
    peer.body.insert(peer.body.end(), body.begin(), body.end());
    return peer;
}

Result<std::vector<std::byte>> Mailbox::receive_kind(Kind kind, const Patience& patience, bool& by_peer) {
    by_peer = false;
    for (;;) {
        auto message = link_.receive(patience);
        if (!message) {
            by_peer = message.error().code == ErrorCode::timeout;
            return message.error();
        }
        if (std::holds_alternative<Left>(*message) && claims_) {
            by_peer = true;
            return Error{ErrorCode::authentication, "the other end has left without the right code"};
        }
        auto* const peer = std::get_if<Peer>(&*message);
        if (peer == nullptr) {
            if (auto taken = take(std::move(*message)); !taken) return taken.error();
            continue;
        }
        if (is_skipped(peer->body)) continue;
        by_peer = true;
        if (peer->body.empty() || peer->body.front() != static_cast<std::byte>(kind)) {
            return Error{ErrorCode::protocol,
                         "the other end sent its messages out of order: use the same version of udtx"};
        }
        return std::vector<std::byte>(peer->body.begin() + 1, peer->body.end());
    }
}

/// The end that has joined proves first that it knows the words. So each attempt becomes known to the end that counts
/// them.
Result<Secret32> Mailbox::agree(const Patience& patience, bool& by_peer) {
    auto spake = Spake2::make(
        {claims_ ? Spake2::Party::a : Spake2::Party::b, kIdentityA, kIdentityB, std::to_string(code_.number)},
        password_);
    if (!spake) return spake.error();
    if (const auto sent = link_.send(peer_message(Kind::share, spake->message()), patience); !sent) return sent.error();
    const auto share = receive_kind(Kind::share, patience, by_peer);
    if (!share) return share.error();
    if (const auto agreed = spake->on_message(*share); !agreed) return agreed.error();
    by_peer = false;
    const Message own_proof = peer_message(Kind::confirmation, spake->confirmation());
    if (!claims_) {
        if (const auto sent = link_.send(own_proof, patience); !sent) return sent.error();
    }
    const auto proof = receive_kind(Kind::confirmation, patience, by_peer);
    if (!proof) return proof.error();
    if (const auto confirmed = spake->on_confirmation(*proof); !confirmed) return confirmed.error();
    by_peer = false;
    if (claims_) {
        // First, because the other end may send data when it has the proof.
        if (const auto sent = link_.send(Settled{join_}, patience); !sent) return sent.error();
        if (const auto sent = link_.send(own_proof, patience); !sent) return sent.error();
    }
    return spake->key();
}

Result<Mailbox::Meeting> Mailbox::exchange(const Secret32& key, const std::vector<std::byte>& own,
                                           const Patience& patience) {
    seals_ = std::make_unique<Seals>(Seals{.out = Sealer(key, claims_ ? kFromSender : kFromReceiver),
                                           .in = Sealer(key, claims_ ? kFromReceiver : kFromSender)});
    stage_.enter(Stage::met);
    if (const auto sent = send(own, patience); !sent) return sent.error();
    for (;;) {
        auto arrival = receive(patience);
        if (!arrival) return arrival.error();
        if (auto* const sealed = std::get_if<Sealed>(&*arrival)) {
            Meeting met{.key = {}, .peer = std::move(sealed->message)};
            hkdf_sha256(key.bytes(), as_bytes_of(kForTransfer), met.key.bytes());
            return met;
        }
    }
}

Result<Mailbox::Meeting> Mailbox::meet(const std::function<std::vector<std::byte>()>& own, const Patience& patience) {
    for (std::size_t left = kMostAttempts; left > 0;) {
        if (stage_ == Stage::waits) {
            if (const auto joined = wait_for_join(patience); !joined) return joined.error();
        }
        Patience of_one = patience;
        if (claims_) of_one.deadline = std::min(patience.deadline, monotonic_now() + kExchangeTime);
        bool by_peer = false;
        const auto key = agree(of_one, by_peer);
        if (key) {
            const Instant soon = std::min(patience.deadline, monotonic_now() + kExchangeTime);
            auto met = exchange(*key, own(), {soon, patience.stop});
            return met ? std::move(met) : Result<Meeting>(fail(met.error()));
        }
        // An end that has joined has one attempt. Its relay counts the others.
        if (!claims_ || !by_peer || monotonic_now() >= patience.deadline) return fail(key.error());
        --left;
        stage_.enter(Stage::waits);
        // After the last attempt the relay ends the session itself.
        const auto sent = link_.send(Dismiss{join_}, patience);
        if (!sent && left > 0) return fail(sent.error());
        if (on_wrong_code) on_wrong_code(left);
    }
    return fail({ErrorCode::authentication,
                 "three ends have joined with a wrong code: start again, and give the new code to the other end"});
}

Result<std::optional<Mailbox::Arrival>> Mailbox::take(Message message) {
    if (const auto* const close = std::get_if<Close>(&message)) return fail(refused(*close));
    if (stage_ != Stage::met) return fail(out_of_order(message));
    if (auto* const data = std::get_if<Data>(&message)) return std::optional<Arrival>(std::move(*data));
    auto* const peer = std::get_if<Peer>(&message);
    if (peer == nullptr) return fail(out_of_order(message));
    const std::span<const std::byte> body = peer->body;
    if (is_skipped(body)) return std::optional<Arrival>();
    auto opened = !body.empty() && body.front() == static_cast<std::byte>(Kind::sealed)
                      ? seals_->in.open(body.subspan(1))
                      : std::optional<std::vector<std::byte>>();
    if (!opened) {
        return fail({ErrorCode::integrity,
                     "a message of the other end was changed on its way: use another relay, this one is not honest"});
    }
    return std::optional<Arrival>(Sealed{std::move(*opened)});
}

Result<void> Mailbox::send(std::span<const std::byte> message, const Patience& patience) {
    if (stage_ != Stage::met) return session_over();
    assert(message.size() <= kMaxBytes);
    const auto sent = link_.send(peer_message(Kind::sealed, seals_->out.seal(message)), patience);
    return sent ? sent : Result<void>(fail(sent.error()));
}

Result<Mailbox::Arrival> Mailbox::receive(const Patience& patience) {
    for (;;) {
        if (stage_ == Stage::ended) return session_over();
        auto message = link_.receive(patience);
        // After a timeout the caller may continue.
        if (!message && message.error().code == ErrorCode::timeout) return message.error();
        if (!message) return fail(message.error());
        auto taken = take(std::move(*message));
        if (!taken) return taken.error();
        if (taken->has_value()) return std::move(**taken);
    }
}

Result<std::optional<Mailbox::Arrival>> Mailbox::poll_arrival() {
    for (;;) {
        if (stage_ == Stage::ended) return session_over();
        auto message = link_.poll_message();
        if (!message) return fail(message.error());
        if (!message->has_value()) return std::optional<Arrival>();
        auto taken = take(std::move(**message));
        if (!taken || taken->has_value()) return taken;
    }
}

Result<void> Mailbox::send_data(std::span<const std::byte> bytes) {
    if (stage_ != Stage::met) return session_over();
    assert(bytes.size() <= kMaxDataBytes);
    const auto offered = link_.offer(Data{{bytes.begin(), bytes.end()}});
    return offered ? offered : Result<void>(fail(offered.error()));
}

void Mailbox::close() {
    if (stage_ == Stage::ended) return;
    stage_.enter(Stage::ended);
    // The relay also notices the end of the connection.
    (void)link_.offer(Close{});
}

}  // namespace udtx::apps
