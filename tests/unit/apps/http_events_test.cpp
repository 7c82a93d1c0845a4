// Event streams over HTTP: what a client that reads them receives, and what a client costs that does not read.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "observe/http_server.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;

namespace {

namespace asio = boost::asio;

class Visitor {
  public:
    explicit Visitor(const HttpServer& server, int receive_buffer = 0,
                     const std::string& request = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n") {
        const std::string address = server.address();
        const std::size_t colon = address.rfind(':');
        const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(address.substr(0, colon)),
                                               static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
        socket_.open(endpoint.protocol());
        if (receive_buffer > 0) socket_.set_option(asio::socket_base::receive_buffer_size(receive_buffer));
        socket_.connect(endpoint);
        asio::write(socket_, asio::buffer(request));
    }
    /// Reads up to and including `end`; returns what has arrived if the server closes the connection before.
    std::string read_to(const std::string& end) {
        boost::system::error_code error;
        const std::size_t size = asio::read_until(socket_, asio::dynamic_buffer(text_), end, error);
        std::string out = error ? text_ : text_.substr(0, size);
        text_.erase(0, out.size());
        return out;
    }

  private:
    asio::io_context context_;
    asio::ip::tcp::socket socket_{context_};
    std::string text_;
};

std::unique_ptr<HttpServer> streaming_server() {
    auto server = HttpServer::start({.host = "", .port = 0}, [](const HttpRequest&) {
        HttpReply reply;
        reply.type = kEventsType;
        reply.body = event_text("state", "first");
        reply.events = true;
        return reply;
    });
    REQUIRE(server);
    return std::move(*server);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a stream begins with the state of now, goes on with what is published, and ends with its server's work") {
    const auto server = streaming_server();
    Visitor visitor(*server);
    const std::string head = visitor.read_to("\r\n\r\n");
    CHECK(head.starts_with("HTTP/1.1 200"));
    CHECK(contains(head, "text/event-stream"));
    CHECK(visitor.read_to("\n\n") == "event: state\ndata: first\n\n");
    server->publish(event_text("state", "second"));
    CHECK(visitor.read_to("\n\n") == "event: state\ndata: second\n\n");
    server->publish(event_text("state", "last"));
    server->end_streams(10s);
    CHECK(visitor.read_to("\n\n") == "event: state\ndata: last\n\n");
    CHECK(visitor.read_to("\n\n").empty());
}

TEST_CASE("a visitor who reads nothing is left behind with the newest; nobody waits, nothing piles up") {
    const auto server = streaming_server();
    Visitor asleep(*server, 4096);
    Visitor awake(*server);
    asleep.read_to("first\n\n");
    awake.read_to("first\n\n");
    const std::string filling(100'000, 'x');
    for (int i = 0; i < 200; ++i) {
        server->publish(event_text("state", std::to_string(i) + filling));
        // Wait for each event here, so that the server publishes no faster than a client can read.
        REQUIRE(contains(awake.read_to("\n\n"), "data: " + std::to_string(i) + "x"));
    }
    int taken = 0;
    std::string last;
    while (!contains(last, "data: 199x")) {
        last = asleep.read_to("\n\n");
        REQUIRE_FALSE(last.empty());
        ++taken;
    }
    // The sleeping client receives the events in both kernel buffers, the one in progress and the newest.
    CHECK(taken < 100);
}

TEST_CASE("there is room for sixteen streams, and again when one has gone") {
    const auto server = streaming_server();
    std::vector<std::unique_ptr<Visitor>> visitors;
    for (std::size_t i = 0; i < HttpServer::kMaxStreams; ++i) {
        visitors.push_back(std::make_unique<Visitor>(*server));
        visitors.back()->read_to("first\n\n");
    }
    CHECK(Visitor(*server).read_to("\r\n\r\n").starts_with("HTTP/1.1 503"));
    visitors.pop_back();
    // The server notices the closed stream only when it next writes to it.
    bool let_in = false;
    for (int i = 0; i < 1000 && !let_in; ++i) {
        let_in = Visitor(*server).read_to("\r\n\r\n").starts_with("HTTP/1.1 200");
        if (!let_in) std::this_thread::sleep_for(10ms);
    }
    CHECK(let_in);
    server->publish("x");
}

TEST_CASE("only a host's own names lead to its page") {
    CHECK(is_own_host("127.0.0.1:8080", ""));
    CHECK(is_own_host("[::1]:8080", ""));
    CHECK(is_own_host("192.168.1.5", ""));
    CHECK(is_own_host("LocalHost:8080", ""));
    CHECK(is_own_host("localhost.:8080", ""));
    CHECK(is_own_host("localhost.", ""));
    CHECK(is_own_host("big.example:80", "big.example"));
    CHECK(is_own_host("big.example.:80", "big.example"));
    CHECK(is_own_host(asio::ip::host_name() + ":80", ""));
    CHECK_FALSE(is_own_host("evil.example:80", ""));
    CHECK_FALSE(is_own_host("127.0.0.1.evil.example", ""));
    CHECK_FALSE(is_own_host("localhost.evil.example:80", "localhost"));
    CHECK_FALSE(is_own_host("", ""));
    CHECK_FALSE(is_own_host(".", ""));
    CHECK_FALSE(is_own_host("localhost..", ""));
    CHECK_FALSE(is_own_host("[", ""));
}

TEST_CASE("visitors who finish no request, or read no answer, keep nobody out") {
    std::string body = "page";
    std::string request;
    SECTION("half a request") { request = "GET / HTTP/1.1\r\nHost: local"; }
    SECTION("nothing at all") {}
    SECTION("an answer that is not read") {
        request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        body.append(20'000'000, 'x');
    }
    const auto started = HttpServer::start({.host = "", .port = 0}, [&](const HttpRequest& asked) {
        HttpReply reply;
        reply.body = asked.target == "/" ? body : "for us";
        return reply;
    });
    REQUIRE(started);
    std::vector<std::unique_ptr<Visitor>> others;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 32; ++i) others.push_back(std::make_unique<Visitor>(**started, 4096, request));
        Visitor own(**started, 0, "GET /own HTTP/1.1\r\nHost: localhost\r\n\r\n");
        CHECK(contains(own.read_to("for us"), "HTTP/1.1 200"));
    }
}

TEST_CASE("a request in progress is not given up while others wait longer") {
    const auto server = streaming_server();
    Visitor stream(*server);
    stream.read_to("first\n\n");
    std::vector<std::unique_ptr<Visitor>> others;
    for (int i = 0; i < 40; ++i) others.push_back(std::make_unique<Visitor>(*server, 4096, "GET"));
    server->publish(event_text("state", "still here"));
    CHECK(contains(stream.read_to("\n\n"), "still here"));
}
