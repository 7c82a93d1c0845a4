// Clients with one valid key that take more than their share of a server. They run until they are killed.
//
//   greedy_clients IDENTITY SERVER_KEY PORT COUNT MODE
//
//   `deaf`     Push files that fail, and read no answer.
//   `slow`     Fetch "big" at 1 Mbit/s.
//   `idle`     Send an offer and then nothing.
//   `names`    Fetch a long list of names.
//
// Prints "in" when the server has accepted or refused each client, and "out REASON" for each client whose connection
// ends.
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "carrier.hpp"
#include "io/protocol_thread.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"
#include "transfer/message/message_codec.hpp"
#include "udtx/core/chunk.hpp"

namespace {

using namespace udtx;
using namespace udtx::transfer;
using test::die;
using test::need;

constexpr std::uint64_t kFailingFiles = 40000;
constexpr std::size_t kNames = 800000;

void put_failing_files(MessageWriter& out) {
    out.put(message::Offer{});
    const std::string name(240, 'q');
    for (std::uint64_t index = 0; index < kFailingFiles; ++index) {
        message::Entry entry;
        entry.index = index;
        entry.path = {"big", name, name, name, name + std::to_string(index)};  // "big" is a file, not a directory
        entry.whole = true;
        out.put(entry);
        out.put(message::FileEnd{index, FileStatus::ok, Digest(std::vector<std::byte>(16))});
    }
}

void put_names(MessageWriter& out) {
    message::Names names;
    for (std::size_t i = 0; i < kNames; ++i) {
        names.names.push_back(std::to_string(i));
        if (names.names.size() == kMaxListItems) out.put(std::exchange(names, {}));
    }
    out.put(names);
}

std::vector<std::byte> words_of(const std::string& mode) {
    MessageWriter out;
    if (mode == "deaf") put_failing_files(out);
    if (mode == "idle") out.put(message::Offer{});
    if (mode == "slow" || mode == "names") {
        message::Pull pull;
        const bool named = mode == "names";
        if (named) pull.what.names.emplace();
        pull.what.sources = {named ? "many/" : "big"};
        out.put(pull);
        if (named) put_names(out);
        out.put(message::Accept{});
        out.put(message::Resume{});
    }
    return {out.bytes().begin(), out.bytes().end()};
}

/// All clients. Runs entirely on the protocol thread.
class Incast {
  public:
    Incast(io::Driver& driver, std::uint16_t port, std::size_t count, const std::string& mode)
        : driver_(driver), server_(test::loopback(port)), count_(count), words_(Chunk::copy_of(words_of(mode))) {}
    void begin() {
        for (; started_ < count_ && started_ - there_ < hostile::at_once(); ++started_) {
            static_cast<void>(hostile::connect(driver_, server_, std::make_shared<Client>(*this)));
        }
    }

  private:
    class Client final : public proto::ConnectionHandler {
      public:
        explicit Client(Incast& incast) : incast_(incast) {}
        void on_event(Instant /*now*/, proto::Connection& connection, const proto::Event& event) override {
            const auto* closed = std::get_if<proto::event::Closed>(&event);
            if (closed != nullptr) std::printf("out %s\n", closed->reason.message.c_str());
            if (std::holds_alternative<proto::event::Connected>(event)) {
                need(connection.write(need(connection.open_stream(StreamKind::ordered)), incast_.words_));
            } else if (closed == nullptr) {
                return;
            }
            if (!std::exchange(there_, true)) incast_.come_in();
            std::fflush(stdout);
        }
        void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
        void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

      private:
        Incast& incast_;
        bool there_ = false;
    };

    void come_in() {
        if (++there_ == count_) std::puts("in");
        begin();
    }

    io::Driver& driver_;
    const Address server_;
    const std::size_t count_;
    const Chunk words_;  // shared by all clients
    std::size_t started_ = 0;
    std::size_t there_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) die("usage: greedy_clients IDENTITY SERVER_KEY PORT COUNT deaf|slow|idle|names");
    const std::string mode = argv[5];
    TransportConfig config;
    config.keep_alive = std::chrono::seconds(1);
    if (mode == "deaf") config.stream_window = 1000;
    if (mode == "slow") config.max_receive_rate = Rate::bits_per_second(1e6);
    Credentials own = need(Credentials::from_identity_file(argv[1]));
    need(own.trust(need(PublicKey::parse(argv[2]))));
    const auto transport = need(io::ProtocolThread::make(own, config));
    need(transport->driver().open(test::loopback()));
    Incast incast(transport->driver(), static_cast<std::uint16_t>(std::stoul(argv[3])), std::stoul(argv[4]), mode);
    transport->driver().post([&incast] { incast.begin(); });
    transport->start();
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}
