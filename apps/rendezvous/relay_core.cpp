#include "rendezvous/relay_core.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/units.hpp"

namespace udtx::apps {
namespace {

/// Numbers stay short while there are few sessions.
constexpr std::uint32_t kFewNumbers = 999;
constexpr Duration kOneRefusalLine = std::chrono::seconds(1);

std::string pair_name(std::uint32_t number) { return "session " + std::to_string(number) + ": "; }

}  // namespace

struct RelayCore::End {
    enum class Stage {
        guest,  ///< has neither claimed nor joined
        claims,
        joins,
    };
    static constexpr Step<Stage> kSteps[] = {{Stage::guest, Stage::claims}, {Stage::guest, Stage::joins}};

    RelayConnectionId id = 0;
    Address from{};
    Instant since{};
    Lifecycle<kSteps> stage{Stage::guest};
    std::uint32_t number = 0;  // of its session; not as a guest
    Token token{};
    std::uint8_t version = 0;  // that it and the relay speak; not of a guest
    std::size_t peer_messages = 0;
};

struct RelayCore::Session {
    enum class Stage {
        waits,    ///< for an end that joins
        joined,   ///< the ends compare their words
        settled,  ///< a pair
        over,
    };
    static constexpr Step<Stage> kSteps[] = {{Stage::waits, Stage::joined},   {Stage::joined, Stage::waits},
                                             {Stage::joined, Stage::settled}, {Stage::waits, Stage::over},
                                             {Stage::joined, Stage::over},    {Stage::settled, Stage::over}};

    Session(std::uint32_t its_number, RelayConnectionId by, const Address& of, Instant until, Rate rate)
        : number(its_number), claimer(by), claimed_from(of), waits_until(until), bucket(rate) {}
    [[nodiscard]] bool is_joined_by(std::uint8_t join) const { return stage == Stage::joined && joins == join; }

    std::uint32_t number;
    RelayConnectionId claimer;
    Address claimed_from;
    std::optional<RelayConnectionId> joiner{};
    std::uint32_t joins = 0;
    Instant waits_until;
    Instant joined_at{};
    RateBucket bucket;
    std::uint64_t bytes = 0;
    Lifecycle<kSteps> stage{Stage::waits};
};

std::size_t RelayCore::TokenHash::operator()(const Token& token) const noexcept {
    std::size_t hash = 0;  // tokens are random
    std::memcpy(&hash, token.data(), sizeof hash);
    return hash;
}

RelayCore::RelayCore(const RelayBudget& budget, Rng& random, RelayOutput& output)
    : budget_(budget),
      random_(random),
      output_(output),
      total_rate_(budget.total_rate),
      joins_(budget.joins_of_address, budget.attempt_period),
      claims_(budget.claims_of_address, budget.attempt_period) {}
RelayCore::~RelayCore() = default;

RelayCore::End* RelayCore::find(RelayConnectionId id) {
    const auto found = ends_.find(id);
    return found == ends_.end() ? nullptr : found->second.get();
}

RelayCore::Session& RelayCore::session_of(const End& end) { return *sessions_.at(end.number); }

RelayCore::End* RelayCore::other_of(const End& end) {
    if (end.stage == End::Stage::guest) return nullptr;
    const Session& session = session_of(end);
    if (!session.joiner) return nullptr;
    return find(end.id == session.claimer ? *session.joiner : session.claimer);
}

/// Closes the oldest guest for a new one if it has had its time, so that strangers do not lock out others.
bool RelayCore::make_room(Instant now, const Address& from) {
    const bool address_full = guests_of_.count(from) >= budget_.guests_of_address;
    if (!address_full && guests_ < budget_.guests) return true;
    End* oldest = nullptr;
    for (const auto& [id, end] : ends_) {
        if (end->stage != End::Stage::guest) continue;
        if (address_full && AddressGroup(end->from) != AddressGroup(from)) continue;
        if (oldest == nullptr || end->since < oldest->since) oldest = end.get();
    }
    if (oldest == nullptr || now - oldest->since < budget_.guest_grace) return false;
    refuse(now, *oldest, CloseReasonCode::busy, "others are waiting");
    return true;
}

bool RelayCore::on_connect(Instant now, RelayConnectionId id, const Address& from) {
    if (!make_room(now, from)) {
        count_refusal(now, host_text(from) + " has too many connections that do nothing");
        return false;
    }
    ++guests_;
    guests_of_.add(from);
    auto end = std::make_unique<End>();
    end->id = id;
    end->from = from;
    end->since = now;
    ends_.emplace(id, std::move(end));
    return true;
}

void RelayCore::on_message(Instant now, RelayConnectionId id, const Message& message) {
    End* const end = find(id);
    if (end == nullptr) return;
    std::visit([&](const auto& one) { handle(now, *end, one); }, message);
}

void RelayCore::on_violation(Instant now, RelayConnectionId id, const std::string& why) {
    End* const end = find(id);
    if (end == nullptr) return;
    count_refusal(now, host_text(end->from) + " breaks the protocol: " + why);
    leave(now, *end, "an end broke the protocol");
    if (End* const still = find(id)) close(*still, CloseReasonCode::violation, why.c_str());
}

void RelayCore::on_disconnect(Instant now, RelayConnectionId id) {
    End* const end = find(id);
    if (end == nullptr) return;
    leave(now, *end, "an end has disconnected");
    if (End* const still = find(id)) forget(*still);
}

// --- claims and joins

std::uint32_t RelayCore::free_number() {
    const auto most = std::min<std::uint64_t>(999'999, std::max<std::uint64_t>(kFewNumbers, 4 * sessions_.size()));
    // At most a quarter of the numbers is in use, so that a few attempts are enough.
    for (;;) {
        const auto number = static_cast<std::uint32_t>(1 + random_.next_u64() % most);
        if (!sessions_.contains(number)) return number;
    }
}

void RelayCore::give_token(End& end) {
    random_.fill(end.token);
    tokens_.insert(end.token);
}

bool RelayCore::agree_on_version(Instant now, End& end, std::uint8_t newest) {
    end.version = std::min(newest, kRendezvousVersion);
    if (end.version >= kOldestRendezvousVersion) return true;
    refuse(now, end, CloseReasonCode::version, "it needs udtx 0.2 or later");
    return false;
}

void RelayCore::handle(Instant now, End& end, const Claim& message) {
    if (end.stage != End::Stage::guest) return on_violation(now, end.id, "a second CLAIM");
    if (!agree_on_version(now, end, message.version)) return;
    if (!claims_.allow(now, end.from)) {
        return refuse(now, end, CloseReasonCode::busy, "your address tries too often");
    }
    if (sessions_.size() >= budget_.sessions) return refuse(now, end, CloseReasonCode::busy, "the relay is full");
    if (sessions_of_.count(end.from) >= budget_.sessions_of_address) {
        return refuse(now, end, CloseReasonCode::busy, "your address has too many sessions at this relay");
    }
    --guests_;
    guests_of_.remove(end.from);
    end.stage.enter(End::Stage::claims);
    end.number = free_number();
    sessions_.emplace(end.number, std::make_unique<Session>(end.number, end.id, end.from, now + budget_.claim_time,
                                                            budget_.pair_rate));
    sessions_of_.add(end.from);
    give_token(end);
    ++counters_.claims;
    output_.report(pair_name(end.number) + to_string(end.from) + " waits");
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(budget_.claim_time).count();
    output_.send(end.id, Claimed{.version = end.version,
                                 .number = end.number,
                                 .token = end.token,
                                 .seconds = static_cast<std::uint32_t>(seconds)});
}

void RelayCore::handle(Instant now, End& end, const Join& message) {
    if (end.stage != End::Stage::guest) return on_violation(now, end.id, "a second JOIN");
    if (!agree_on_version(now, end, message.version)) return;
    // The limit also holds for numbers that exist, so that nobody can try all of them.
    if (!joins_.allow(now, end.from)) {
        return refuse(now, end, CloseReasonCode::busy, "your address tries too often");
    }
    const auto found = sessions_.find(message.number);
    if (found == sessions_.end() || found->second->stage != Session::Stage::waits) {
        return refuse(now, end, CloseReasonCode::unknown_number, "nobody waits with this number");
    }
    Session& session = *found->second;
    --guests_;
    guests_of_.remove(end.from);
    end.stage.enter(End::Stage::joins);
    end.number = session.number;
    session.stage.enter(Session::Stage::joined);
    session.joiner = end.id;
    session.joined_at = now;
    ++session.joins;
    give_token(end);
    output_.report(pair_name(session.number) + to_string(end.from) + " joins");
    const auto join = static_cast<std::uint8_t>(session.joins);
    const End& claimer = *find(session.claimer);
    const std::uint8_t version = std::min(end.version, claimer.version);
    output_.send(end.id, Joined{.version = version, .join = join, .token = end.token});
    output_.send(claimer.id, Joined{.version = version, .join = join, .token = claimer.token});
}

void RelayCore::handle(Instant now, End& end, const Dismiss& message) {
    if (end.stage != End::Stage::claims) return on_violation(now, end.id, "DISMISS from an end that has not claimed");
    Session& session = session_of(end);
    if (session.stage == Session::Stage::settled) return on_violation(now, end.id, "DISMISS after SETTLED");
    if (!session.is_joined_by(message.join)) return;  // that end has just left
    ++counters_.wrong_codes;
    close(*find(*session.joiner), CloseReasonCode::wrong_code, "the words are wrong");
    end_join(now, session, "wrong code");
}

void RelayCore::handle(Instant now, End& end, const Settled& message) {
    if (end.stage != End::Stage::claims) return on_violation(now, end.id, "SETTLED from an end that has not claimed");
    Session& session = session_of(end);
    if (session.stage == Session::Stage::settled) return on_violation(now, end.id, "a second SETTLED");
    if (!session.is_joined_by(message.join)) return;  // that end has just left
    session.stage.enter(Session::Stage::settled);
    ++counters_.pairs;
    output_.report(pair_name(session.number) + "the ends are a pair");
}

void RelayCore::handle(Instant now, End& end, const Peer& message) {
    if (end.stage == End::Stage::guest) return on_violation(now, end.id, "PEER before CLAIM or JOIN");
    if (++end.peer_messages > budget_.peer_messages) return on_violation(now, end.id, "too many messages");
    End* const other = other_of(end);
    if (other == nullptr || message.join != session_of(end).joins) return;  // that end has just left
    output_.send(other->id, message);
}

void RelayCore::handle(Instant now, End& end, const Close& /*message*/) {
    const RelayConnectionId id = end.id;
    on_disconnect(now, id);
    output_.disconnect(id);
}

template <class Other>
void RelayCore::handle(Instant now, End& end, const Other& message) {
    on_violation(now, end.id, std::string(name_of(Message(message))) + " from an end");
}

// --- data and datagrams

void RelayCore::handle(Instant now, End& end, const Data& message) {
    if (end.stage == End::Stage::guest) return on_violation(now, end.id, "DATA before CLAIM or JOIN");
    Session& session = session_of(end);
    // Before that, the other end may be anyone.
    if (session.stage != Session::Stage::settled) return on_violation(now, end.id, "DATA before SETTLED");
    const std::size_t size = message.body.size();
    session.bytes += size;
    counters_.passed_bytes += size;
    // Without the overhead, small messages would pass at more than the rate, and empty ones at any.
    const std::size_t cost = size + Data::kOverheadBytes;
    const Duration pause = std::max(session.bucket.charge(now, cost), total_rate_.charge(now, cost));
    output_.pass(end.id, other_of(end)->id, message, pause);
}

void RelayCore::on_datagram(const Address& from, std::span<const std::byte> datagram) {
    const auto bind = parse_bind(datagram);
    if (!bind || !tokens_.contains(bind->token)) return;
    output_.send_datagram(from, encode(BindAnswer{.token = bind->token, .observed = from}));
}

// --- ends of sessions

void RelayCore::forget(End& end) {
    if (end.stage == End::Stage::guest) {
        --guests_;
        guests_of_.remove(end.from);
    } else {
        tokens_.erase(end.token);
    }
    ends_.erase(end.id);
}

void RelayCore::close(End& end, CloseReasonCode code, const char* reason) {
    const RelayConnectionId id = end.id;
    forget(end);
    output_.send(id, Close{code, reason});
    output_.disconnect(id);
}

void RelayCore::end_session(Instant now, Session& session, CloseReasonCode code, const char* reason) {
    const bool was_pair = session.stage == Session::Stage::settled;
    session.stage.enter(Session::Stage::over);
    std::string line = pair_name(session.number) + "ends: " + reason;
    if (was_pair) {
        line += ", after " + format_elapsed(now - session.joined_at) + " with " + format_bytes(session.bytes);
    }
    output_.report(line);
    if (session.joiner) {
        if (End* const joiner = find(*session.joiner)) close(*joiner, code, reason);
    }
    if (End* const claimer = find(session.claimer)) close(*claimer, code, reason);
    sessions_of_.remove(session.claimed_from);
    sessions_.erase(session.number);
}

void RelayCore::end_join(Instant now, Session& session, const char* why) {
    session.joiner.reset();
    session.stage.enter(Session::Stage::waits);
    if (session.joins >= budget_.joins) {
        return end_session(now, session, CloseReasonCode::wrong_code, "too many ends have tried this number");
    }
    const std::uint32_t left = budget_.joins - session.joins;
    output_.report(pair_name(session.number) + why + ", waits for another end");
    output_.send(session.claimer, Left{static_cast<std::uint8_t>(left)});
}

void RelayCore::leave(Instant now, End& end, const char* why) {
    if (end.stage == End::Stage::guest) return;
    Session& session = session_of(end);
    if (end.stage == End::Stage::joins && session.stage == Session::Stage::joined) {
        return end_join(now, session, why);
    }
    // The other end gets CLOSE; this one is the caller's.
    if (end.stage == End::Stage::joins) {
        session.joiner.reset();
    } else {
        session.claimer = 0;
    }
    end_session(now, session, CloseReasonCode::other_end, why);
}

void RelayCore::refuse(Instant now, End& end, CloseReasonCode code, const char* reason) {
    count_refusal(now, host_text(end.from) + " is refused: " + reason);
    close(end, code, reason);
}

void RelayCore::count_refusal(Instant now, const std::string& line) {
    ++counters_.refused;
    if (last_refusal_ && now - *last_refusal_ < kOneRefusalLine) {
        ++refusals_left_out_;
        return;
    }
    last_refusal_ = now;
    const std::uint64_t others = std::exchange(refusals_left_out_, 0);
    output_.report(others > 0 ? line + " (and " + std::to_string(others) + " others since the last line)" : line);
}

void RelayCore::on_tick(Instant now) {
    std::vector<End*> guests;
    for (const auto& [id, end] : ends_) {
        if (end->stage == End::Stage::guest && now - end->since >= budget_.guest_time) guests.push_back(end.get());
    }
    for (End* const guest : guests) refuse(now, *guest, CloseReasonCode::expired, "nothing was asked in time");
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, session] : sessions_) numbers.push_back(number);
    for (const std::uint32_t number : numbers) {
        Session& session = *sessions_.at(number);
        switch (session.stage) {
            case Session::Stage::waits:
                if (now >= session.waits_until) {
                    end_session(now, session, CloseReasonCode::expired, "no other end came in time");
                }
                break;
            case Session::Stage::joined:
                if (now - session.joined_at >= budget_.settle_time) {
                    close(*find(*session.joiner), CloseReasonCode::expired, "the words were not compared in time");
                    end_join(now, session, "words not compared in time");
                }
                break;
            case Session::Stage::settled:
                if (now - session.joined_at >= budget_.pair_time) {
                    end_session(now, session, CloseReasonCode::expired, "the time of this session is over");
                }
                break;
            case Session::Stage::over:
                break;
        }
    }
}

void RelayCore::stop(Instant now) {
    while (!sessions_.empty()) {
        end_session(now, *sessions_.begin()->second, CloseReasonCode::stopping, "the relay is being stopped");
    }
    while (!ends_.empty()) close(*ends_.begin()->second, CloseReasonCode::stopping, "the relay is being stopped");
}

}  // namespace udtx::apps
