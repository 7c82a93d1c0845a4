// A client with a valid key that sends a very long list of files. It asks about each file, announces it, and then
// reports that it could not be read. So only the list itself costs the server anything.
//
//   endless_client KEY PORT COUNT    prints "confirmed N" when the server has confirmed; N is the server's number of
//                                    failures
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "carrier.hpp"
#include "io/protocol_thread.hpp"
#include "peer_messages.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"
#include "transfer/checksum.hpp"
#include "transfer/message/message_codec.hpp"
#include "udtx/core/chunk.hpp"

namespace {

using namespace udtx;
using namespace udtx::transfer;
using test::die;
using test::need;

constexpr std::size_t kBlock = 64U << 10U;

class Endless final : public proto::ConnectionHandler {
  public:
    explicit Endless(std::uint64_t count) : count_(count) {}

    [[nodiscard]] std::uint64_t wait() { return confirmed_.get_future().get(); }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Connected>(event)) {
            control_ = need(connection.open_stream(StreamKind::ordered));
            MessageWriter out;
            message::Offer offer;
            offer.overwrite = Overwrite::diff;
            out.put(offer);
            need(connection.write(*control_, Chunk::copy_of(out.bytes())));
        }
        if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
            if (!told_) die("closed: " + closed->reason.message);
            return;
        }
        if (!control_) return;
        read(now, connection);
        if (!told_) speak(connection);
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  private:
    void speak(proto::Connection& connection) {
        while (!finished_ && connection.write_capacity(*control_) > 0) {
            MessageWriter out;
            while (next_ < count_ && out.bytes().size() < kBlock) announce(out);
            if (next_ == count_) {
                message::Finish finish;
                finish.entries = count_;
                finish.root = RootDigest(HashAlgorithm::xxh3_128).finish();
                out.put(finish);
                finished_ = true;
            }
            need(connection.write(*control_, Chunk::copy_of(out.bytes())));
        }
    }
    void announce(MessageWriter& out) {
        const std::uint64_t index = next_++;
        message::Query query;
        query.number = index;
        query.path = {"a directory with a long name, so that it weighs something", "file " + std::to_string(index)};
        query.size = 1;
        out.put(query);
        message::Entry entry;
        entry.index = index;
        entry.path = std::move(query.path);
        entry.size = 1;
        out.put(entry);
        out.put(message::FileEnd{index, FileStatus::unreadable, {}});
    }
    void read(Instant now, proto::Connection& connection) {
        test::hear_all(connection, *control_, reader_, [&](const Message& heard) {
            if (const auto* stopped = std::get_if<message::Stopped>(&heard)) die("stopped: " + stopped->reason);
            const auto* confirm = std::get_if<message::Confirm>(&heard);
            if (confirm == nullptr || std::exchange(told_, true)) return;
            confirmed_.set_value(confirm->totals.failures);
            connection.close(now, 0, "");
        });
    }

    const std::uint64_t count_;
    std::uint64_t next_ = 0;
    bool finished_ = false;
    bool told_ = false;
    std::optional<StreamId> control_;
    MessageReader reader_;
    std::promise<std::uint64_t> confirmed_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) die("usage: endless_client KEY PORT COUNT");
    const auto transport = need(io::ProtocolThread::make(hostile::own_credentials(argv[1]), TransportConfig{}));
    need(transport->driver().open(test::loopback()));
    const auto client = std::make_shared<Endless>(std::stoull(argv[3]));
    const Address server = test::loopback(static_cast<std::uint16_t>(std::stoul(argv[2])));
    hostile::Way way = hostile::way_to(server);
    transport->driver().post([&] { static_cast<void>(hostile::connect(transport->driver(), way, client)); });
    transport->start();
    std::printf("confirmed %llu\n", static_cast<unsigned long long>(client->wait()));
    std::fflush(stdout);
    transport->stop(std::chrono::milliseconds(300));
    if (way.far_end != 0) {
        const int code = hostile::code_of(way.far_end);
        std::printf("far end: code %d, %ld MiB\n", code, hostile::peak_mebibytes());
    }
    return 0;
}
