// relay_ends PORT WHAT: ends that use a relay on 127.0.0.1. Exit 0: all went as WHAT says.
//   pair     two ends meet; datagrams pass by UDP, by UDP and TLS, and by TLS
//   wrong    three ends join with wrong words, then one with the right ones: no end gets a key
//   full     a second code is refused
//   expires  a pair ends within 5 s, because its time is over
//   rate     prints the bytes that arrive of those that are sent for two seconds
//   stays    two ends meet and stay until the relay ends; prints "met" before
#include <csignal>
#include <cstdio>
#include <future>
#include <string>
#include <string_view>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

#include "common/text.hpp"
#include "rendezvous/binding.hpp"
#include "rendezvous/mailbox.hpp"
#include "udtx/system.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

using Bytes = std::vector<std::byte>;

Patience soon(Duration time = 20s) { return {monotonic_now() + time, -1}; }

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}
void expect(bool holds, const char* what) {
    if (!holds) give_up(std::string("does not hold: ") + what);
}
template <class Value>
Value good(Result<Value> result) {
    if (!result) give_up(result.error().message);
    return std::move(*result);
}

struct Ends {
    Mailbox sender;
    Mailbox receiver;
};

class UdpSocket {
  public:
    UdpSocket(const Address& relay, const Token& token) : relay_(asio::ip::address_v4::loopback(), relay.port) {
        socket_.open(asio::ip::udp::v4());
        socket_.bind({asio::ip::address_v4::loopback(), 0});
        socket_.non_blocking(true);
        Binding binding(token);
        for (int i = 0; i < 10 && !binding.observed(); ++i) {
            send(binding.request());
            binding.on_datagram(receive());
        }
        expect(binding.observed().has_value(), "the relay answers BIND");
    }
    void send(std::span<const std::byte> datagram) {
        boost::system::error_code ignored;
        socket_.send_to(asio::buffer(datagram.data(), datagram.size()), relay_, 0, ignored);
    }
    Bytes receive(Duration time = 5s) {
        const Instant deadline = monotonic_now() + time;
        Bytes bytes(65536);
        do {
            boost::system::error_code error;
            const std::size_t size = socket_.receive(asio::buffer(bytes), 0, error);
            if (!error) {
                bytes.resize(size);
                return bytes;
            }
            std::this_thread::sleep_for(1ms);
        } while (monotonic_now() < deadline);
        return {};
    }

  private:
    asio::io_context context_;
    asio::ip::udp::socket socket_{context_};
    asio::ip::udp::endpoint relay_;
};

Mailbox claim(const Address& relay) {
    SystemRng random;
    return good(Mailbox::claim({relay}, random, soon()));
}

Ends meet(const Address& relay) {
    Mailbox sender = claim(relay);
    auto meeting = std::async([&] { return good(sender.meet([] { return Bytes{std::byte{1}}; }, soon())); });
    Mailbox receiver = good(Mailbox::join({relay}, sender.code(), soon()));
    const auto there = good(receiver.meet([] { return Bytes{std::byte{2}}; }, soon()));
    const auto here = meeting.get();
    expect(equal_secrets(here.key.bytes(), there.key.bytes()), "both ends have the same key");
    expect(here.peer == Bytes{std::byte{2}} && there.peer == Bytes{std::byte{1}}, "both ends have the other's bytes");
    return {std::move(sender), std::move(receiver)};
}

Bytes by_tls(Mailbox& end) {
    for (;;) {
        auto arrival = good(end.receive(soon()));
        if (auto* const datagram = std::get_if<Datagram>(&arrival)) return std::move(datagram->body);
    }
}

void pair(const Address& relay) {
    const Bytes packet(1200, std::byte{0x41});
    Ends tls = meet(relay);
    expect(good(tls.sender.send_datagram(packet)) && by_tls(tls.receiver) == packet, "TLS to TLS");
    expect(good(tls.receiver.send_datagram(packet)) && by_tls(tls.sender) == packet, "TLS to TLS, back");
    UdpSocket sender(relay, tls.sender.token());
    sender.send(packet);
    expect(by_tls(tls.receiver) == packet, "UDP to TLS");
    expect(good(tls.receiver.send_datagram(packet)) && sender.receive() == packet, "TLS to UDP");
    UdpSocket receiver(relay, tls.receiver.token());
    sender.send(packet);
    expect(receiver.receive() == packet, "UDP to UDP");
    receiver.send(packet);
    expect(sender.receive() == packet, "UDP to UDP, back");
}

void wrong(const Address& relay) {
    Mailbox sender = claim(relay);
    auto meeting = std::async([&] { return sender.meet([] { return Bytes{}; }, soon()); });
    Code code = sender.code();
    code.words[0] = code_word(code.words[0] == code_word(0) ? 1 : 0);
    for (int i = 0; i < 3; ++i) {
        Mailbox receiver = good(Mailbox::join({relay}, code, soon()));
        const auto met = receiver.meet([] { return Bytes{}; }, soon());
        expect(!met && met.error().code == ErrorCode::authentication, "wrong words give no key");
    }
    const auto met = meeting.get();
    expect(!met && met.error().code == ErrorCode::authentication, "three wrong codes end the claim");
    expect(!Mailbox::join({relay}, sender.code(), soon()), "the code is useless");
}

void full(const Address& relay) {
    const Mailbox first = claim(relay);
    SystemRng random;
    const auto second = Mailbox::claim({relay}, random, soon());
    expect(!second && second.error().message.find("the relay is full") != std::string::npos, "the relay is full");
}

void expires(const Address& relay) {
    Ends ends = meet(relay);
    const Instant start = monotonic_now();
    const auto ended = ends.sender.receive(soon());
    expect(!ended && ended.error().message.find("the time of this session is over") != std::string::npos,
           "the time of a pair ends");
    expect(monotonic_now() - start < 5s, "it ends soon");
}

void rate(const Address& relay) {
    Ends ends = meet(relay);
    UdpSocket sender(relay, ends.sender.token());
    UdpSocket receiver(relay, ends.receiver.token());
    const Bytes packet(1000, std::byte{0x41});
    std::size_t arrived = 0;
    const Instant end = monotonic_now() + 2s;
    while (monotonic_now() < end) {
        for (int i = 0; i < 5; ++i) sender.send(packet);
        for (Bytes got = receiver.receive(1ms); !got.empty(); got = receiver.receive(0ms)) arrived += got.size();
    }
    std::printf("%zu\n", arrived);
}

void stay(const Address& relay) {
    Ends ends = meet(relay);
    std::printf("met\n");
    std::fflush(stdout);
    const auto ended = ends.sender.receive(soon());
    expect(!ended && ended.error().message.find("the relay is being stopped") != std::string::npos,
           "the relay says that it stops");
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    const auto port = argc == 3 ? parse_number<std::uint16_t>(argv[1]) : std::nullopt;
    if (!port) give_up("relay_ends PORT WHAT");
    const Address relay{Address::Family::v4, *port, {127, 0, 0, 1}};
    const std::string_view what = argv[2];
    if (what == "pair") {
        pair(relay);
    } else if (what == "wrong") {
        wrong(relay);
    } else if (what == "full") {
        full(relay);
    } else if (what == "expires") {
        expires(relay);
    } else if (what == "rate") {
        rate(relay);
    } else if (what == "stays") {
        stay(relay);
    } else {
        give_up("WHAT is unknown");
    }
    return 0;
}
