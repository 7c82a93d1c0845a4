// Clients with a valid key that connect and never send a request, or send data that the server has to store.
//
//   silent_clients PSK PORT COUNT
//   silent_clients IDENTITY PORT COUNT SERVER_KEY [MIB | slowly]
//
// Prints "in" when the server has accepted or refused each client. When the server has closed all of them, prints a
// line "N REASON" for each reason. With "slowly" they send a request, one byte each half second.
//
// With MIB each client offers a transfer, starts files that never end, and sends so much data that belongs to none of
// them. Then each reason is also printed at once, after "out".
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carrier.hpp"
#include "io/protocol_thread.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"
#include "transfer/message/message_codec.hpp"
#include "udtx/core/chunk.hpp"

namespace {

using namespace udtx;
using test::die;
using test::need;

constexpr std::uint64_t kFiles = 1000;

/// All clients. Runs entirely on the protocol thread.
class Incast {
  public:
    Incast(io::Driver& driver, std::uint16_t port, std::size_t count, std::size_t data)
        : driver_(driver), server_(test::loopback(port)), count_(count) {
        transfer::MessageWriter out;
        transfer::message::Offer offer;
        if (data == 0) offer.destination = {std::string(200, 'x')};  // long, so that sending it slowly takes time
        out.put(offer);
        if (data > 0) begin_files(out);
        words_ = {out.bytes().begin(), out.bytes().end()};
        if (data > 0) data_.emplace(std::shared_ptr<std::byte[]>(new std::byte[data]()), data);
    }
    static void begin_files(transfer::MessageWriter& out) {
        for (std::uint64_t index = 0; index < kFiles; ++index) {
            transfer::message::Entry entry;
            entry.index = index;
            entry.path = {"never", std::to_string(index)};
            out.put(entry);
            out.put(transfer::message::FileEnd{index, transfer::FileStatus::ok, transfer::Digest()});
        }
    }
    void begin() {
        while (started_ < count_ && started_ - in_ - refused_ < hostile::at_once()) {
            ++started_;
            static_cast<void>(hostile::connect(driver_, server_, std::make_shared<Client>(*this)));
        }
    }
    void wait() { over_.get_future().wait(); }
    /// Sends a byte each half second until all clients are closed.
    void wait_slowly() {
        for (const auto over = over_.get_future();
             over.wait_for(std::chrono::milliseconds(500)) == std::future_status::timeout;) {
            driver_.post([this] { say_more(); });
        }
    }

  private:
    class Client final : public proto::ConnectionHandler {
      public:
        explicit Client(Incast& incast) : incast_(incast) {}
        void on_event(Instant /*now*/, proto::Connection& connection, const proto::Event& event) override {
            if (std::holds_alternative<proto::event::Connected>(event)) {
                in_ = true;
                incast_.speak(connection);
                incast_.come_in();
            }
            if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
                incast_.connections_.erase(&connection);
                incast_.go(in_, closed->reason.message);
            }
        }
        void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
        void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

      private:
        Incast& incast_;
        bool in_ = false;
    };

    void say_more() {
        const std::span next(words_.data() + said_++ % words_.size(), 1);
        for (auto& [connection, control] : connections_) {
            if (!control) control = need(connection->open_stream(StreamKind::ordered));
            need(connection->write(*control, Chunk::copy_of(next)));
        }
    }
    void speak(proto::Connection& connection) {
        connections_[&connection];
        if (!data_) return;
        const StreamId control = need(connection.open_stream(StreamKind::ordered));
        need(connection.write(control, Chunk::copy_of(words_)));
        const StreamId data = need(connection.open_stream(StreamKind::unordered));
        need(connection.write(data, *data_));
    }
    void come_in() {
        ++in_;
        tell();
    }
    void go(bool was_in, const std::string& reason) {
        ++reasons_[reason];
        if (data_) std::printf("out %s\n", reason.c_str());
        ++(was_in ? put_out_ : refused_);
        tell();
    }
    void tell() {
        begin();
        if (in_ + refused_ == count_ && !std::exchange(told_, true)) {
            std::puts("in");
            std::fflush(stdout);
        }
        if (refused_ + put_out_ != count_) return;
        for (const auto& [reason, count] : reasons_) std::printf("%zu %s\n", count, reason.c_str());
        std::fflush(stdout);
        over_.set_value();
    }

    io::Driver& driver_;
    const Address server_;
    const std::size_t count_;
    std::optional<Chunk> data_;     // shared by all clients
    std::vector<std::byte> words_;  // the control messages before data_
    std::size_t said_ = 0;          // number of bytes of words_ that slow clients have sent
    std::map<proto::Connection*, std::optional<StreamId>> connections_;
    std::size_t started_ = 0;
    std::size_t in_ = 0;
    std::size_t refused_ = 0;
    std::size_t put_out_ = 0;
    bool told_ = false;
    std::map<std::string, std::size_t> reasons_;
    std::promise<void> over_;
};

std::size_t number(const char* text) {
    std::size_t value = 0;
    if (std::from_chars(text, text + std::strlen(text), value).ec != std::errc())
        die(std::string("no number: ") + text);
    return value;
}

Credentials credentials(int argc, char** argv) {
    if (argc == 4) return need(Credentials::from_psk_file(argv[1]));
    Credentials own = need(Credentials::from_identity_file(argv[1]));
    need(own.trust(need(PublicKey::parse(argv[4]))));
    return own;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4 || argc > 6)
        die("usage: silent_clients PSK PORT COUNT | IDENTITY PORT COUNT SERVER_KEY [MIB | slowly]");
    const bool slowly = argc == 6 && std::string_view(argv[5]) == "slowly";
    TransportConfig config;
    config.keep_alive = std::chrono::seconds(1);
    const auto transport = need(io::ProtocolThread::make(credentials(argc, argv), config));
    need(transport->driver().open(test::loopback()));
    Incast incast(transport->driver(), static_cast<std::uint16_t>(number(argv[2])), number(argv[3]),
                  argc == 6 && !slowly ? number(argv[5]) << 20U : 0);
    transport->driver().post([&incast] { incast.begin(); });
    transport->start();
    slowly ? incast.wait_slowly() : incast.wait();
    transport->stop(std::chrono::milliseconds(300));
    return 0;
}
