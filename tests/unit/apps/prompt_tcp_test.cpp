#include "ssh/ssh_child.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "test/catch.hpp"

using namespace udtx::apps;
using namespace std::chrono_literals;

namespace {

/// A TCP connection over loopback. A child inherits its first end.
struct Connection {
    udtx::UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    udtx::UniqueFd ours{::socket(AF_INET, SOCK_STREAM, 0)};
    udtx::UniqueFd other;

    Connection() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const named = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(::bind(listener.get(), named, size) == 0);
        REQUIRE(::listen(listener.get(), 1) == 0);
        REQUIRE(::getsockname(listener.get(), named, &size) == 0);
        REQUIRE(::connect(ours.get(), named, size) == 0);
        other.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        REQUIRE(other);
    }

    [[nodiscard]] bool has(int option) const {
        int value = 0;
        socklen_t size = sizeof value;
        REQUIRE(::getsockopt(ours.get(), IPPROTO_TCP, option, &value, &size) == 0);
        return value != 0;
    }
};

template <class Condition>
bool becomes_true(Condition&& condition) {
    for (int i = 0; i < 12000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

std::unique_ptr<SshChild> shell(const char* script) {
    auto child = SshChild::start({"sh", "-c", script}, {[](std::string_view) {}, [] {}});
    REQUIRE(child.ok());
    return std::move(*child);
}

}  // namespace

TEST_CASE("a child's TCP connection sends and acknowledges at once until the child says something") {
    if (!PromptTcp(::getpid()).hasten()) {
        WARN("here nobody gets a descriptor of another process");
        return;
    }
    Connection connection;
    const int off = 0;
    REQUIRE(::setsockopt(connection.ours.get(), IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off) == 0);
    const auto child = shell("read x; echo said; read x");
    CHECK(becomes_true([&] { return connection.has(TCP_NODELAY) && connection.has(TCP_QUICKACK); }));

    REQUIRE(child->write("go\n").ok());
    REQUIRE(becomes_true([&] { return child->next_line().has_value(); }));
    REQUIRE(::setsockopt(connection.ours.get(), IPPROTO_TCP, TCP_NODELAY, &off, sizeof off) == 0);
    std::this_thread::sleep_for(10 * PromptTcp::kEvery);
    CHECK_FALSE(connection.has(TCP_NODELAY));
}
