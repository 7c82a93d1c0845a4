// Many senders in one process. Each has started a file of its transfer and then sends nothing more.
//
//   incast_clients KEY PORT COUNT    prints "begun N" when the server has accepted as many clients as it accepts.
//                                      After a line on standard input the files end, and it prints
//                                      "confirmed N, refused M: REASON"
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "io/protocol_thread.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"
#include "transfer/checksum.hpp"
#include "transfer/message/message_codec.hpp"
#include "udtx/core/chunk.hpp"

namespace {

using namespace udtx;
using test::die;
using test::need;
using namespace udtx::transfer;

/// Number of simultaneous handshakes; an endpoint allows 64 per host.
constexpr std::size_t kAtOnce = 48;
constexpr std::string_view kContent = "hello";

Chunk chunk_of(const MessageWriter& messages) { return Chunk::copy_of(messages.bytes()); }

enum class News { begun, confirmed, refused };

class Client final : public proto::ConnectionHandler {
  public:
    Client(std::size_t number, std::function<void(News, const std::string&)> tell)
        : number_(number), tell_(std::move(tell)) {}

    void attach(std::shared_ptr<proto::Connection> connection) { connection_ = std::move(connection); }

    void end_file() {
        if (over_) return;
        const auto bytes = std::as_bytes(std::span(kContent));
        Hasher hasher(HashAlgorithm::xxh3_128);
        hasher.update(bytes);
        const Digest piece = hasher.finish();
        FileDigest file(HashAlgorithm::xxh3_128, kContent.size());
        file.add(0, kContent.size(), piece);
        const Digest digest = file.finish();
        RootDigest root(HashAlgorithm::xxh3_128);
        root.add(0, digest);
        MessageWriter out;
        out.put(message::Digests{0, 0, {piece}});
        out.put(message::FileEnd{0, FileStatus::ok, digest});
        message::Finish finish;
        finish.entries = 1;
        finish.data_bytes = kContent.size();
        finish.root = root.finish();
        out.put(finish);
        const bool good = connection_->write(data_, Chunk::copy_of(bytes)).ok() && connection_->finish(data_).ok() &&
                          connection_->write(control_, chunk_of(out)).ok();
        if (!good) die("cannot write");
    }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Connected>(event)) return begin(connection);
        if (const auto* closed = std::get_if<proto::event::Closed>(&event)) return on_closed(closed->reason);
        const auto* readable = std::get_if<proto::event::Readable>(&event);
        if (readable != nullptr) read(now, connection);
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  private:
    void begin(proto::Connection& connection) {
        control_ = need(connection.open_stream(StreamKind::ordered));
        data_ = need(connection.open_stream(StreamKind::unordered));
        MessageWriter out;
        message::Offer offer;
        offer.transfer = number_ + 1;
        offer.destination = {"incast", std::to_string(number_)};
        out.put(offer);
        message::Entry entry;
        entry.path = {"file"};
        entry.mode = 0644;
        entry.size = kContent.size();
        entry.whole = true;
        out.put(entry);
        if (const auto written = connection.write(control_, chunk_of(out)); !written) die(written.error().message);
    }
    void read(Instant now, proto::Connection& connection) {
        std::array<std::byte, 4096> block{};
        for (;;) {
            const auto got = connection.read(control_, block);
            if (got.bytes == 0) return;
            reader_.feed(std::span(block).first(got.bytes));
            for (;;) {
                const auto next = need(reader_.next());
                if (!next) break;
                if (std::holds_alternative<message::Resume>(*next)) tell_(News::begun, {});
                if (const auto* stopped = std::get_if<message::Stopped>(&*next)) reason_ = stopped->reason;
                const bool confirmed = std::holds_alternative<message::Confirm>(*next);
                if (!confirmed && reason_.empty()) continue;
                over_ = true;
                connection.close(now, 0, "");
                return tell_(confirmed ? News::confirmed : News::refused, reason_);
            }
        }
    }
    void on_closed(const proto::CloseReason& reason) {
        if (!std::exchange(over_, true)) tell_(News::refused, reason.message);
    }

    std::size_t number_;
    std::function<void(News, const std::string&)> tell_;
    std::shared_ptr<proto::Connection> connection_;
    StreamId control_{};
    StreamId data_{};
    MessageReader reader_;
    std::string reason_;
    bool over_ = false;
};

/// All functions except run() are called on the protocol thread.
class Incast {
  public:
    Incast(io::Driver& driver, std::uint16_t port, std::size_t count)
        : driver_(driver), server_(test::loopback(port)), count_(count) {}

    void run() {
        driver_.post([this] {
            for (std::size_t i = 0; i < std::min(kAtOnce, count_); ++i) connect_one();
        });
        all_there_.get_future().wait();
        std::printf("begun %zu\n", begun_);
        std::fflush(stdout);
        std::string line;
        std::getline(std::cin, line);
        driver_.post([this] {
            released_ = true;
            for (const auto& client : clients_) client->end_file();
            tell_if_over();
        });
        over_.get_future().wait();
        std::printf("confirmed %zu, refused %zu: %s\n", confirmed_, refused_, reason_.c_str());
        std::fflush(stdout);
    }

  private:
    void connect_one() {
        const auto client = std::make_shared<Client>(
            clients_.size(), [this](News news, const std::string& reason) { hear(news, reason); });
        clients_.push_back(client);
        // Uses several addresses: one address may have a quarter of the server's connections.
        Address local = test::loopback();
        local.ip[3] = static_cast<std::uint8_t>(2 + clients_.size() / 200);
        client->attach(driver_.connect(
            std::vector{proto::PathAddresses{.local = local, .remote = server_, .options = {}}}, client));
    }
    void hear(News news, const std::string& reason) {
        if (news == News::begun) ++begun_;
        if (news == News::confirmed) ++confirmed_;
        if (news == News::refused) ++refused_;
        if (news == News::refused) reason_ = reason;
        if (news != News::confirmed && clients_.size() < count_) connect_one();
        if (!released_ && begun_ + refused_ == count_) all_there_.set_value();
        tell_if_over();
    }
    void tell_if_over() {
        if (released_ && confirmed_ + refused_ == count_ && !std::exchange(told_, true)) over_.set_value();
    }

    io::Driver& driver_;
    Address server_;
    std::size_t count_;
    std::vector<std::shared_ptr<Client>> clients_;
    std::size_t begun_ = 0;
    std::size_t confirmed_ = 0;
    std::size_t refused_ = 0;
    bool released_ = false;
    bool told_ = false;
    std::string reason_;
    std::promise<void> all_there_;
    std::promise<void> over_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("incast_clients KEY PORT COUNT\n", stderr);
        return 2;
    }
    const auto transport = need(io::ProtocolThread::make(need(Credentials::from_psk_file(argv[1])), TransportConfig{}));
    Address any = test::loopback();
    any.ip = {};
    need(transport->driver().open(any));
    Incast incast(transport->driver(), static_cast<std::uint16_t>(std::atoi(argv[2])),
                  static_cast<std::size_t>(std::atoi(argv[3])));
    transport->start();
    incast.run();
    transport->stop(std::chrono::milliseconds(500));
    return 0;
}
