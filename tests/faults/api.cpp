// F91: random calls of the public API while allocations and thread starts fail. Nothing may throw, crash or hang, and
// afterwards the library must work as before. Usage: faults_api SECONDS [SEED [ROUNDS]]
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "failing_calls/plan.hpp"
#include "test/fault_case.hpp"
#include "udtx/session.hpp"

namespace {

using namespace std::chrono_literals;
using udtx::faults::Kind;

constexpr std::size_t kStreams = 4;
constexpr unsigned kRoundSeconds = 120;  // far more than a round takes, including all timeouts

struct Round {
    explicit Round(std::uint64_t seed) : random(seed) {}
    std::mt19937_64 random;
    std::optional<udtx::Listener> listener;
    std::array<std::optional<udtx::Session>, 3> sessions;  // the connecting one, the accepted one, another one
    std::array<std::optional<udtx::Stream>, kStreams> streams;
    std::array<std::size_t, kStreams> owners{};  // index of each stream's session
    bool paired = false;                         // the first two sessions are the two ends of one connection
    std::uint16_t port = 0;
    std::uint64_t calls = 0;
    std::uint64_t refused = 0;

    std::size_t below(std::size_t n) { return static_cast<std::size_t>(random() % n); }
    template <class T>
    bool good(const udtx::Result<T>& result) {
        ++calls;
        refused += result ? 0 : 1;
        return result.ok();
    }
};

struct Setup {
    udtx::Credentials credentials;
    udtx::TransportConfig config;
    std::string address = "127.0.0.1:0";
    std::string host = "127.0.0.1";
    udtx::PathRequest path{"127.0.0.1", "", 1.0, false};
    std::vector<std::byte> bytes = std::vector<std::byte>(100'000, std::byte{7});
    udtx::Chunk chunk = udtx::Chunk::copy_of(bytes);
    std::vector<std::byte> room = std::vector<std::byte>(100'000);
};

Setup make_setup() {
    std::array<std::byte, udtx::Credentials::kPskBytes> key{};
    Setup setup{udtx::Credentials::from_psk(key), {}};
    setup.config.idle_timeout = 1s;
    setup.config.handshake_timeout = 1s;
    setup.config.keep_alive = 300ms;
    return setup;
}

void open_end(Round& round, Setup& setup) {
    switch (round.below(3)) {
        case 0: {
            auto made = udtx::Listener::bind(setup.address, setup.credentials, setup.config);
            if (!round.good(made)) return;
            round.port = made->local_address().port;
            round.listener.emplace(std::move(*made));
            return;
        }
        case 1: {
            auto made = udtx::Session::connect(setup.host, round.port, setup.credentials, setup.config);
            const std::size_t place = round.below(2) * 2;
            if (round.port == 0 || !round.good(made)) return;
            round.paired = round.paired && place != 0;
            round.sessions[place].emplace(std::move(*made));
            return;
        }
        default: {
            if (!round.listener) return;
            auto made = round.listener->accept(50ms);
            if (!round.good(made)) return;
            round.paired = false;
            round.sessions[1].emplace(std::move(*made));
        }
    }
}

void use_session(Round& round, Setup& setup) {
    const std::size_t owner = round.below(round.sessions.size());
    auto& session = round.sessions[owner];
    if (!session) return open_end(round, setup);
    const std::size_t place = round.below(kStreams);
    auto& stream = round.streams[place];
    switch (round.below(10)) {
        case 0:
        case 1: {
            auto made = session->open_stream();
            if (!round.good(made)) return;
            stream.emplace(std::move(*made));
            round.owners[place] = owner;
            return;
        }
        case 2: {
            auto made = session->accept_stream(20ms);
            if (!round.good(made)) return;
            stream.emplace(std::move(*made));
            round.owners[place] = owner;
            return;
        }
        case 3:
            static_cast<void>(round.good(session->stats()));
            return;
        case 4:
            static_cast<void>(round.good(session->add_path(setup.path)));
            return;
        case 5:
            static_cast<void>(round.good(session->wait_path_event(5ms)));
            return;
        case 6:
            static_cast<void>(
                round.good(session->remove_path(udtx::PathId{static_cast<std::uint8_t>(round.below(3))})));
            return;
        case 7:
            static_cast<void>(round.good(session->set_max_rate(udtx::Rate::infinite())));
            session->cancel();
            return;
        case 8: {
            // The call ends by itself, by cancel(), or when the session ends.
            const auto id = session->start_accept_stream(udtx::StreamKind::unordered, [](const auto&) {});
            session->cancel(id);
            return;
        }
        default:
            if (round.below(4) == 0) session->close(round.below(2), "reason");
            if (round.below(4) == 0) session.reset();
            return;
    }
}

void use_stream(Round& round, Setup& setup) {
    const std::size_t place = round.below(kStreams);
    auto& stream = round.streams[place];
    if (!stream) return use_session(round, setup);
    const std::size_t n = 1 + round.below(setup.bytes.size());
    switch (round.below(6)) {
        case 0:
        case 1:
            static_cast<void>(round.below(2) == 0 ? round.good(stream->write(std::span(setup.bytes).first(n)))
                                                  : round.good(stream->write_chunk(setup.chunk.part(0, n))));
            return;
        case 2:
            static_cast<void>(round.good(stream->finish()));
            return;
        case 3:
            // The read blocks until data arrives or the session ends, so close the other end first.
            if (!round.paired || round.owners[place] > 1 || !round.sessions[1 - round.owners[place]]) return;
            round.sessions[1 - round.owners[place]]->close();
            static_cast<void>(round.below(2) == 0 ? round.good(stream->read(std::span(setup.room).first(n)))
                                                  : round.good(stream->read_chunk()));
            return;
        case 4:
            round.below(2) == 0 ? stream->reset(n) : stream->stop_receiving(n);
            return;
        default:
            stream.reset();
    }
}

/// What each round does first, so that calls fail within working sessions.
void begin(Round& round, Setup& setup) {
    auto listener = udtx::Listener::bind(setup.address, setup.credentials, setup.config);
    if (!round.good(listener)) return;
    round.port = listener->local_address().port;
    round.listener.emplace(std::move(*listener));
    auto client = udtx::Session::connect(setup.host, round.port, setup.credentials, setup.config);
    if (!round.good(client)) return;
    round.sessions[0].emplace(std::move(*client));
    auto server = round.listener->accept(1s);
    if (!round.good(server)) return;
    round.sessions[1].emplace(std::move(*server));
    round.paired = true;
}

void choose_failure(Round& round) {
    const bool thread = round.below(10) == 0;
    // A number that is evenly spread over magnitudes: the first call, or one of thousands.
    const auto n = static_cast<std::uint64_t>(1) << round.below(thread ? 3 : 12);
    const std::uint64_t number = n + round.below(n);
    const bool every = !thread && number > 40 && round.below(2) == 0;
    udtx::faults::choose(thread ? Kind::thread : Kind::memory, thread ? EAGAIN : ENOMEM, number, every);
}

/// Checks that the library works afterwards: sends a word from one end to the other.
bool works(Setup& setup) {
    Round round(1);
    begin(round, setup);
    if (!round.sessions[1]) return false;
    auto out = round.sessions[0]->open_stream();
    if (!out || !out->write(setup.bytes) || !out->finish()) return false;
    auto in = round.sessions[1]->accept_stream(1s);
    return in && in->read(setup.room).ok();
}

struct Totals {
    std::uint64_t rounds = 0, calls = 0, refused = 0, failed = 0;
};

void play(std::uint64_t seed, Setup& setup, Totals& totals) {
    Round round(seed);
    const bool from_the_start = round.below(3) == 0;
    choose_failure(round);
    if (!from_the_start) begin(round, setup);
    udtx::faults::arm(true);
    if (from_the_start) begin(round, setup);
    for (std::size_t i = round.below(40); i > 0; --i) use_stream(round, setup);
    if (round.below(2) == 0) {  // in half of the rounds they end while memory is short, too
        for (auto& session : round.sessions) session.reset();
        round.listener.reset();
    }
    udtx::faults::arm(false);
    ++totals.rounds;
    totals.calls += round.calls;
    totals.refused += round.refused;
    totals.failed += udtx::faults::failures();
}

}  // namespace

int main(int count, char** arguments) {
    const auto number = [&](int at, std::uint64_t otherwise) {
        return count > at ? std::strtoull(arguments[at], nullptr, 10) : otherwise;
    };
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(number(1, 5));
    std::uint64_t seed = number(2, 1);
    const std::uint64_t most = number(3, UINT64_MAX);
    Setup setup = make_setup();
    Totals totals;
    for (; std::chrono::steady_clock::now() < until && totals.rounds < most; ++seed) {
        std::fprintf(stderr, "\rseed %llu ", static_cast<unsigned long long>(seed));
        ::alarm(kRoundSeconds);
        try {
            play(seed, setup, totals);
            if (!works(setup)) throw std::runtime_error("the library does not work afterwards");
        } catch (const std::exception& thrown) {
            udtx::faults::arm(false);
            std::printf("FAILED: %s; again: faults_api 60 %llu 1\n", thrown.what(),
                        static_cast<unsigned long long>(seed));
            return 1;
        }
    }
    std::fprintf(stderr, "\n");
    if (totals.failed == 0) {
        std::printf("FAILED: no allocation failed\n");
        return 1;
    }
    udtx::test::fault_case(91, "no call throws, crashes or hangs, and a later session works",
                           std::to_string(totals.calls) + " calls in " + std::to_string(totals.rounds) + " rounds, " +
                               std::to_string(totals.failed) + " failed allocations or threads, " +
                               std::to_string(totals.refused) + " calls refused");
    return 0;
}
