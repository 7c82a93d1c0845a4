// What observers of a transfer receive: metrics over HTTP, the JSON stream, the control socket.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>

#include "common/process.hpp"
#include "connect/transfer_observers.hpp"
#include "control/control.hpp"
#include "observe/final_report.hpp"
#include "observe/http_server.hpp"
#include "observe/prometheus.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace udtx::test;
using namespace std::chrono_literals;

namespace {

std::string ask(const std::string& address, const std::string& request) {
    namespace asio = boost::asio;
    asio::io_context context;
    asio::ip::tcp::socket socket(context);
    const std::size_t colon = address.rfind(':');
    socket.connect({asio::ip::make_address(address.substr(0, colon)),
                    static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))});
    asio::write(socket, asio::buffer(request));
    std::string answer;
    boost::system::error_code end;
    asio::read(socket, asio::dynamic_buffer(answer), end);
    return answer;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Observation example() {
    Observation seen;
    seen.peer = "a\"b:7011";
    seen.at = 2s;
    seen.progress.phase = transfer::Phase::transfer;
    seen.progress.bytes_done = 5000;
    seen.progress.bytes_total = 9000;
    seen.rate = Rate::bits_per_second(1.5e9);
    seen.limited_by = Limit::receiver_disk;
    seen.limits = {{Limit::receiver_disk, 0.75}, {Limit::network, 0.25}};
    PathStats path;
    path.id = PathId{2};
    path.smoothed_rtt = 20ms;
    path.lost_packets = 7;
    seen.stats.emplace();
    seen.stats->paths.push_back(path);
    seen.paths[path.id] = Rate::bits_per_second(1e9);
    return seen;
}

/// Sets the runtime directory for one test.
class RuntimeHere {
  public:
    RuntimeHere() {
        const char* before = std::getenv("XDG_RUNTIME_DIR");
        if (before != nullptr) before_ = before;
        ::setenv("XDG_RUNTIME_DIR", temp_.path().c_str(), 1);
    }
    ~RuntimeHere() {
        if (before_) ::setenv("XDG_RUNTIME_DIR", before_->c_str(), 1);
        if (!before_) ::unsetenv("XDG_RUNTIME_DIR");
    }
    RuntimeHere(const RuntimeHere&) = delete;
    RuntimeHere& operator=(const RuntimeHere&) = delete;

  private:
    TemporaryDirectory temp_;
    std::optional<std::string> before_;
};

/// Starts a process that listens on a socket and dies without removing it; returns its number.
std::string socket_of_killed(const std::string& directory) {
    const pid_t killed = ::fork();
    REQUIRE(killed >= 0);
    if (killed == 0) {
        const std::string path = directory + "/" + std::to_string(::getpid()) + ".sock";
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool good = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        ::_exit(good && ::listen(fd, 1) == 0 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(killed, &status, 0) == killed);
    REQUIRE(status == 0);
    return std::to_string(killed);
}

}  // namespace

TEST_CASE("metrics have help, type and a sample for each path, labels escaped") {
    const std::string text = metrics_text({.role = "sender", .version = "1", .transfers = {example()}});
    CHECK(has(text, "# TYPE udtx_transfer_done_bytes_total counter\n"));
    CHECK(has(text, "udtx_transfer_done_bytes_total{peer=\"a\\\"b:7011\",direction=\"receive\"} 5000\n"));
    CHECK(
        has(text,
            "udtx_transfer_limited_ratio{peer=\"a\\\"b:7011\",direction=\"receive\",limit=\"receiver_disk\"} 0.75\n"));
    CHECK(has(text, "path=\"2\""));
    CHECK(has(text, "udtx_path_rtt_seconds{"));
    CHECK(has(text, "} 0.02\n"));
    CHECK(has(text, "udtx_transfer_rate_bytes_per_second{peer=\"a\\\"b:7011\",direction=\"receive\"} 187500000\n"));
    CHECK(has(text, "udtx_transfer_cap_bytes_per_second{peer=\"a\\\"b:7011\",direction=\"receive\"} +Inf\n"));
    CHECK(text.back() == '\n');
}

TEST_CASE("a progress object names phase, figures, limit and paths") {
    const std::string text = progress_json(example());
    CHECK(has(text, R"("event":"progress")"));
    CHECK(has(text, R"("phase":"transfer")"));
    CHECK(has(text, R"("bytes_done":5000)"));
    CHECK(has(text, R"("limited_by":"receiver_disk")"));
    CHECK(has(text, R"("cap_bps":null)"));
    CHECK(has(text, R"("rate_bps":1000000000)"));
}

TEST_CASE("before a connection nothing limits a transfer, and a run without one confirms nothing") {
    Observer observer(DataEnd::sender, false, "b");
    Glance glance;
    glance.connected = false;
    for (int i = 0; i < 5; ++i) {
        glance.at += 100ms;
        observer.look(glance);
    }
    CHECK_FALSE(observer.latest().limited_by);
    CHECK(observer.latest().limits.empty());
    FinalReport report;
    report.outcome.exact = true;
    CHECK(has(to_json(report), R"("confirmed":true)"));
    report.connected = false;
    report.limits = observer.latest().limits;
    CHECK(has(to_json(report), R"("confirmed":false)"));
    CHECK(has(to_json(report), R"("limited_by":null,"limits":{})"));
    // The first sample of a connection includes the time before it.
    glance.connected = true;
    glance.progress.phase = transfer::Phase::transfer;
    glance.at += 100ms;
    observer.look(glance);
    REQUIRE(observer.latest().limits.size() == 1);
    CHECK(observer.latest().limits.front().share == 1.0);
    glance.progress.totals_final = true;  // everything is read: another limit, for as long
    glance.at += 600ms;
    observer.look(glance);
    REQUIRE(observer.latest().limits.size() == 2);
    CHECK(observer.latest().limits.back().share == 0.5);
}

TEST_CASE("the HTTP server answers on loopback, refuses what it does not know, and ends with visitors there") {
    auto server = HttpServer::start({.host = "", .port = 0}, [](const HttpRequest& request) {
        if (request.target == "/metrics") return HttpReply{200, kMetricsType, "x 1\n"};
        return HttpReply{404, "text/plain", "no\n"};
    });
    REQUIRE(server);
    const std::string address = (*server)->address();
    CHECK(address.starts_with("127.0.0.1:"));
    const std::string good = ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(good.starts_with("HTTP/1.1 200"));
    CHECK(has(good, "version=0.0.4"));
    CHECK(good.ends_with("\r\n\r\nx 1\n"));
    CHECK(ask(address, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").ends_with("\r\n\r\n"));
    CHECK(ask(address, "GET /etc HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 404"));
    CHECK(ask(address, "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")
              .starts_with("HTTP/1.1 405"));
    // DNS rebinding: a script from another site sends the name of that site, whatever address it now resolves to.
    CHECK(ask(address, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n").starts_with("HTTP/1.1 421"));
    CHECK(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 421"));
    CHECK(ask(address, "GET /metrics HTTP/1.1\r\nHost: " + address + "\r\n\r\n").starts_with("HTTP/1.1 200"));
    const std::string much(20000, 'x');
    CHECK(ask(address, "GET /" + much + " HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 414"));
    CHECK(ask(address, "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + much + "\r\n\r\n").starts_with("HTTP/1.1 431"));
    CHECK(ask(address, "no request at all\r\n\r\n").starts_with("HTTP/1.1 400"));
    boost::asio::io_context context;
    boost::asio::ip::tcp::socket silent(context);
    silent.connect({boost::asio::ip::make_address("127.0.0.1"),
                    static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)))});
    const auto taken = HttpServer::start({.host = "127.0.0.1", .port = silent.remote_endpoint().port()}, {});
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::network);
    server->reset();
}

TEST_CASE("the control socket is the user's alone, changes the rate, and is gone afterwards") {
    const RuntimeHere here;
    Terminal terminal(STDERR_FILENO);
    Log log("udtx-send", terminal, Log::Verbosity::quiet);
    RateGovernor rates({.base = Rate::bits_per_second(50e6)}, log);
    auto socket =
        open_control(&rates, nullptr, [] { return Described{.card = {.program = "udtx-send", .role = "sender"}}; });
    REQUIRE(socket);
    const std::string path = socket->address();
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777U) == 0600U);
    const auto answer = ask_control(path, "rate 100M");
    REQUIRE(answer);
    CHECK(has(*answer, "100 Mbit/s (12.5 MB/s)"));
    CHECK(rates.update({}, true).bps() == 100e6);
    CHECK(has(*ask_control(std::to_string(::getpid()), "status"), R"("program":"udtx-send")"));
    const auto wrong = ask_control(path, "rate fast");
    REQUIRE_FALSE(wrong);
    CHECK(has(wrong.error().message, "'fast'"));
    CHECK(ask_control(path, "explode").error().code == ErrorCode::invalid_argument);
    CHECK(rates.update({}, true).bps() == 100e6);
    socket.reset();
    CHECK_FALSE(fs::exists(path));
    CHECK(ask_control(path, "status").error().code == ErrorCode::file_io);
}

TEST_CASE("what a killed process left is removed by whoever comes next, and what others use stays") {
    const RuntimeHere here;
    const auto directory = runtime_directory();
    REQUIRE(directory);
    const std::string first = socket_of_killed(*directory);
    REQUIRE(fs::exists(*directory + "/" + first + ".sock"));
    const auto answer = ask_control(first, "status");
    REQUIRE_FALSE(answer);
    CHECK(has(answer.error().message, "was killed"));
    CHECK_FALSE(fs::exists(*directory + "/" + first + ".sock"));

    const std::string second = socket_of_killed(*directory);
    const auto socket = open_control(nullptr, nullptr, [] { return Described{}; });
    REQUIRE(socket);
    CHECK_FALSE(fs::exists(*directory + "/" + second + ".sock"));
    const std::string third = socket_of_killed(*directory);
    CHECK(*running_transfers() == std::vector{std::to_string(::getpid())});
    CHECK_FALSE(fs::exists(*directory + "/" + third + ".sock"));
}

TEST_CASE("a runtime directory that others could write to is not used") {
    const TemporaryDirectory temp;
    const RuntimeHere here;
    const auto directory = runtime_directory();
    REQUIRE(directory);
    fs::permissions(*directory, fs::perms::all);
    CHECK_FALSE(runtime_directory());
}

TEST_CASE("the JSON stream has one object a second, whatever the ticks") {
    int lines = 0;
    JsonTicker ticker([&lines](const std::string&) { ++lines; });
    for (Duration at{}; at < 5s; at += 130ms) ticker.tick(at, example());
    CHECK(lines == 5);
}
