// A receiver with a valid key that lies to clients that push.
//
//   lying_receiver list    Prints a line for each lie, separated by tabs: name, exit codes of udtx-send, text that the
//                          error must contain.
//   lying_receiver KEY     Prints "port N". Each line on standard input is the number of the lie for the next client.
//   lying_receiver KEY NUMBER    Speaks over standard input and output (far_end.sh), or over the relay: KEY is the
//   code.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "carrier.hpp"
#include "io/protocol_thread.hpp"
#include "peer_messages.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"
#include "receiver_lies.hpp"
#include "rendezvous/code.hpp"
#include "rendezvous/met_end.hpp"
#include "transfer/message/message_codec.hpp"
#include "udtx/core/chunk.hpp"

namespace {

using namespace udtx;
using namespace udtx::hostile;
using test::die;
using test::need;
namespace message = transfer::message;

class Liar final : public proto::ConnectionHandler {
  public:
    explicit Liar(const ReceiverLie& lie) : lie_(lie) {}

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        const auto* opened = std::get_if<proto::event::StreamOpened>(&event);
        if (opened != nullptr && opened->id == StreamId::make(0, StreamKind::ordered, Role::client)) {
            control_ = opened->id;
        }
        if (std::holds_alternative<proto::event::Closed>(event) || !control_) return;
        test::hear_all(connection, *control_, reader_, [&](const auto& heard) { hear(now, connection, heard); });
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  private:
    void hear(Instant now, proto::Connection& connection, const transfer::Message& heard) {
        if (std::holds_alternative<message::Offer>(heard)) {
            Answers first;
            first.messages = {message::Accept{}};
            // The sender asks only a receiver that claims to have files.
            first.messages.emplace_back(message::Resume{lie_.when == When::at_query, "", false, false});
            if (lie_.when != When::at_offer) return answer(now, connection, first);
            lie_.tell(heard_, first);
            return answer(now, connection, first);
        }
        if (const auto* query = std::get_if<message::Query>(&heard)) {
            heard_.queries = {*query};
            Answers out;
            if (lie_.when == When::at_query) lie_.tell(heard_, out);
            return answer(now, connection, out);
        }
        if (std::holds_alternative<message::Entry>(heard)) ++heard_.entries;
        if (const auto* finish = std::get_if<message::Finish>(&heard)) end(now, connection, *finish);
    }
    void end(Instant now, proto::Connection& connection, const message::Finish& finish) {
        heard_.finish = finish;
        Answers out;
        if (lie_.when == When::at_finish) {
            lie_.tell(heard_, out);
        } else {
            message::Confirm confirm;
            confirm.totals.files = confirm.totals.files_done = 2;
            confirm.totals.directories = 1;
            confirm.totals.bytes = confirm.totals.written_bytes = 12;
            confirm.root = finish.root;
            out.messages = {confirm};
        }
        answer(now, connection, out);
    }
    void answer(Instant now, proto::Connection& connection, const Answers& answers) {
        transfer::MessageWriter out;
        for (const transfer::Message& one : answers.messages) out.put(one);
        // The sender may have closed the connection already, so a failed write is ignored.
        if (!out.empty()) (void)connection.write(*control_, Chunk::copy_of(out.bytes()));
        if (answers.second_stream) {
            const auto other = connection.open_stream(StreamKind::ordered);
            if (other) (void)connection.write(*other, Chunk::copy_of(std::as_bytes(std::span("more"))));
        }
        if (answers.close_orderly) connection.close(now, 0, "");
    }

    const ReceiverLie& lie_;
    std::optional<StreamId> control_;
    transfer::MessageReader reader_;
    Heard heard_;
};

/// The sender reaches this end only through the relay.
std::unique_ptr<apps::MetEnd> meet(const std::string& code) {
    const Address relay = test::loopback(static_cast<std::uint16_t>(std::stoul(variable("HOSTILE_RELAY"))));
    auto met = need(apps::MetEnd::reach({relay}, need(apps::parse_code(code)), -1));
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (::dup3(nothing.get(), met->socket(), O_CLOEXEC) < 0) die("cannot close the UDP socket");
    need(met->start());
    return met;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) die("usage: lying_receiver list | KEY [NUMBER]");
    const std::string what = argv[1];
    if (what == "list") {
        for (const ReceiverLie& lie : receiver_lies()) {
            std::cout << lie.name << '\t' << lie.codes << '\t' << lie.named << '\n';
        }
        return 0;
    }
    std::atomic<std::size_t> lie{argc == 3 ? std::stoul(argv[2]) : 0};
    const std::unique_ptr<apps::MetEnd> met = over("relay") ? meet(what) : nullptr;
    const auto key = met ? Credentials::from_psk(met->key().bytes()) : need(Credentials::from_psk_file(what));
    const auto transport = need(io::ProtocolThread::make(key, TransportConfig{}));
    io::Driver& driver = transport->driver();
    hostile::open_port(driver);
    driver.listen(16, [&](proto::Connection&) { return std::make_shared<Liar>(receiver_lies().at(lie)); });
    if (argc == 3) {
        serve_channel(*transport, met ? *met->channel() : *standard_channel());
        return 0;
    }
    std::printf("port %u\n", need(driver.local_address()).port);
    std::fflush(stdout);
    transport->start();
    for (std::string line; std::getline(std::cin, line);) {
        std::size_t number = 0;
        std::from_chars(line.data(), line.data() + line.size(), number);
        if (number >= receiver_lies().size()) die("there is no such lie: " + line);
        lie = number;
        std::printf("ready\n");
        std::fflush(stdout);
    }
    transport->stop(std::chrono::milliseconds(300));
    return 0;
}
