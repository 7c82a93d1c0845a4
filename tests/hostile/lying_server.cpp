// A server with a valid key that answers pulls with something other than what was asked for.
//
//   lying_server list    Prints a line for each lie, separated by tabs: name, arguments, exit code, text that the error
//                        must contain.
//   lying_server KEY     Prints "port N". Each line on standard input is the number of the lie for the next client.
//   lying_server KEY NUMBER    Speaks over standard input and output: far_end.sh.
#include <atomic>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "carrier.hpp"
#include "io/protocol_thread.hpp"
#include "lies.hpp"
#include "peer_messages.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"
#include "transfer/message/message_codec.hpp"
#include "udtx/core/chunk.hpp"

namespace {

using namespace udtx;
using test::die;
using test::need;

class Liar final : public proto::ConnectionHandler {
  public:
    explicit Liar(const hostile::Lie& lie) : lie_(lie) {}

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) control_ = opened->id;
        if (std::holds_alternative<proto::event::Closed>(event) || !control_) return;
        test::hear_all(connection, *control_, reader_, [&](const auto& heard) { hear(now, connection, heard); });
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  private:
    void hear(Instant now, proto::Connection& connection, const transfer::Message& heard) {
        if (const auto* pull = std::get_if<transfer::message::Pull>(&heard)) asked_ = *pull;
        if (std::holds_alternative<transfer::message::Accept>(heard)) tell(connection);
        const bool over = std::holds_alternative<transfer::message::Confirm>(heard) ||
                          std::holds_alternative<transfer::message::Stopped>(heard);
        if (over) connection.close(now, 0, "");
    }
    void tell(proto::Connection& connection) {
        hostile::Script script(asked_);
        lie_.tell(script);
        const StreamId data = need(connection.open_stream(StreamKind::unordered));
        const auto bytes = std::as_bytes(std::span(script.data()));
        const bool good = connection.write(*control_, Chunk::copy_of(script.control())).ok() &&
                          (bytes.empty() || connection.write(data, Chunk::copy_of(bytes)).ok()) &&
                          connection.finish(data).ok();
        if (!good) die("cannot write");
    }

    const hostile::Lie& lie_;
    std::optional<StreamId> control_;
    transfer::MessageReader reader_;
    transfer::message::Pull asked_;
};

void list() {
    for (const hostile::Lie& lie : hostile::lies()) {
        const int code = lie.named.empty() ? 0 : lie.code;
        std::cout << lie.name << '\t' << lie.arguments << '\t' << code << '\t' << lie.named << '\n';
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) die("usage: lying_server list | KEY [NUMBER]");
    const std::string what = argv[1];
    if (what == "list") {
        list();
        return 0;
    }
    std::atomic<std::size_t> lie{argc == 3 ? std::stoul(argv[2]) : 0};
    const auto transport = need(io::ProtocolThread::make(need(Credentials::from_psk_file(what)), TransportConfig{}));
    io::Driver& driver = transport->driver();
    hostile::open_port(driver);
    driver.listen(16, [&](proto::Connection&) { return std::make_shared<Liar>(hostile::lies().at(lie)); });
    if (argc == 3) {
        hostile::serve_channel(*transport, *hostile::standard_channel());
        return 0;
    }
    std::printf("port %u\n", need(driver.local_address()).port);
    std::fflush(stdout);
    transport->start();
    for (std::string line; std::getline(std::cin, line);) {
        std::size_t number = 0;
        std::from_chars(line.data(), line.data() + line.size(), number);
        if (number >= hostile::lies().size()) die("there is no such lie: " + line);
        lie = number;
        std::printf("ready\n");
        std::fflush(stdout);
    }
    transport->stop(std::chrono::milliseconds(300));
    return 0;
}
