// Connection attempts that are cancelled: before the start, during the name lookup, during the handshake, and too late.
#include <dlfcn.h>
#include <netdb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <stop_token>
#include <string_view>

#include "io/protocol_thread.hpp"
#include "io/udp_socket.hpp"
#include "session_fixture.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

constexpr const char* kSlowHost = "slow.invalid";

/// Lookups of kSlowHost wait until the gate is opened.
class Gate {
  public:
    void pass() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return open_; });
        --waiting_;
        changed_.notify_all();
    }
    void wait_for_somebody() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_ > 0; });
    }
    void let_through() {
        std::unique_lock lock(mutex_);
        open_ = true;
        changed_.notify_all();
        changed_.wait(lock, [&] { return waiting_ == 0; });
        open_ = false;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int waiting_ = 0;
    bool open_ = false;
};

Gate& resolver_gate() {
    static Gate gate;
    return gate;
}

std::size_t count_threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// Receives datagrams and answers none.
struct SilentPeer {
    SilentPeer() {
        Address place;
        place.family = Address::Family::v4;
        place.ip = {127, 0, 0, 1};
        auto opened = io::open_portable_socket(place, {});
        REQUIRE(opened);
        socket = std::move(*opened);
    }
    [[nodiscard]] std::uint16_t port() const { return socket->local_address().port; }
    std::unique_ptr<io::DatagramSocket> socket;
};

/// Connects on another thread and returns the result.
std::future<ErrorCode> connect_elsewhere(const std::string& host, std::uint16_t port, const std::stop_token& stop) {
    return std::async(std::launch::async, [=] {
        const auto session = Session::connect(host, port, psk(1), ConnectOptions{.stop = stop});
        return session ? ErrorCode{} : session.error().code;
    });
}

}  // namespace

/// Replaces the function of the C library.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
    if (node != nullptr && std::string_view(node) == kSlowHost) {
        resolver_gate().pass();
        return EAI_NONAME;
    }
    static const auto next = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return next(node, service, hints, found);
}

TEST_CASE("a stop ends a connect to whom nobody answers for") {
    const SilentPeer silent;
    std::stop_source source;
    auto connected = connect_elsewhere("127.0.0.1", silent.port(), source.get_token());
    CHECK(connected.wait_for(100ms) == std::future_status::timeout);
    source.request_stop();
    REQUIRE(connected.wait_for(60s) == std::future_status::ready);
    CHECK(connected.get() == ErrorCode::cancelled);
}

TEST_CASE("a stop that came before ends a connect at once") {
    const SilentPeer silent;
    std::stop_source source;
    source.request_stop();
    CHECK(connect_elsewhere("127.0.0.1", silent.port(), source.get_token()).get() == ErrorCode::cancelled);
    std::promise<ErrorCode> told;
    const auto connecting =
        Session::start_connect("127.0.0.1", silent.port(), psk(1), ConnectOptions{.stop = source.get_token()},
                               [&](const Result<Session>& session) { told.set_value(session.error().code); });
    REQUIRE(connecting);
    CHECK(told.get_future().get() == ErrorCode::cancelled);
}

TEST_CASE("a stop does not wait for the look-up of the name, after which the thread ends") {
    const std::size_t threads = count_threads();
    std::stop_source source;
    SECTION("of a connect that blocks") {
        auto connected = connect_elsewhere(kSlowHost, 7, source.get_token());
        resolver_gate().wait_for_somebody();
        source.request_stop();
        REQUIRE(connected.wait_for(60s) == std::future_status::ready);
        CHECK(connected.get() == ErrorCode::cancelled);
    }
    SECTION("of one that was started") {
        const bool by_token = GENERATE(false, true);
        std::promise<ErrorCode> told;
        auto connecting =
            Session::start_connect(kSlowHost, 7, psk(1), ConnectOptions{.stop = source.get_token()},
                                   [&](const Result<Session>& session) { told.set_value(session.error().code); });
        REQUIRE(connecting);
        resolver_gate().wait_for_somebody();
        if (by_token) {
            source.request_stop();
        } else {
            connecting->cancel();
        }
        auto answer = told.get_future();
        REQUIRE(answer.wait_for(60s) == std::future_status::ready);
        CHECK(answer.get() == ErrorCode::cancelled);
    }
    resolver_gate().let_through();
    for (int i = 0; i < 6000 && count_threads() > threads; ++i) std::this_thread::sleep_for(10ms);
    CHECK(count_threads() <= threads);
}

TEST_CASE("what is wrong with the arguments is said at once, before the name is looked up") {
    TransportConfig wrong;
    wrong.idle_timeout = Duration::zero();
    const auto session = Session::connect("host.invalid", 7, psk(1), wrong);
    REQUIRE_FALSE(session);
    CHECK(session.error().code == ErrorCode::invalid_argument);
    CHECK(session.error().message.find("idle_timeout") != std::string::npos);
    const auto started = Session::start_connect("host.invalid", 7, psk(1), ConnectOptions{.config = wrong},
                                                [](const Result<Session>&) { FAIL("it returned the error"); });
    REQUIRE_FALSE(started);
    CHECK(started.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a connect that fails before it has a socket waits for no peer to hear of that") {
    const auto quickest = [](auto connect) {
        auto least = std::chrono::steady_clock::duration::max();
        for (int i = 0; i < 5; ++i) {
            const auto start = std::chrono::steady_clock::now();
            CHECK_FALSE(connect());
            least = std::min(least, std::chrono::steady_clock::now() - start);
        }
        return least;
    };
    TransportConfig wrong;
    wrong.congestion = "nonsense";
    CHECK(quickest([&] { return Session::connect("127.0.0.1", 7, psk(1), wrong).ok(); }) < io::kDrainAtMost / 2);
    CHECK(quickest([] { return Session::connect("127.0.0.1", 7, psk(1), {}, {{.local = "192.0.2.77"}}).ok(); }) <
          io::kDrainAtMost / 2);
}

TEST_CASE("a stop or a cancel that comes after the connect leaves the session alone") {
    auto listener = Listener::bind("127.0.0.1:0", psk(1));
    REQUIRE(listener);
    std::stop_source source;
    std::promise<Session> made;
    auto connecting = Session::start_connect("127.0.0.1", listener->local_address().port, psk(1),
                                             ConnectOptions{.stop = source.get_token()}, [&](Result<Session> session) {
                                                 if (session) made.set_value(std::move(*session));
                                             });
    REQUIRE(connecting);
    auto session = made.get_future().get();
    auto server = listener->accept(60s);
    REQUIRE(server);
    std::promise<ErrorCode> told;
    session.start_accept_stream(StreamKind::ordered,
                                [&](const Result<Stream>& stream) { told.set_value(stream.error().code); });
    connecting->cancel();
    source.request_stop();
    auto answer = told.get_future();
    CHECK(answer.wait_for(50ms) == std::future_status::timeout);
    CHECK(session.open_stream());
    server->close();
    CHECK(answer.get() == ErrorCode::interrupted);
}
