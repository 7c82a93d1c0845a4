// A peer that has the keys and sends anything: payloads from the input, correctly sealed, into an established
// connection. That connection may end; another connection of the same endpoint must keep working.
//
// Input: records of [kind, length low, length high, payload...]. Bits of the kind: 0x01: use the server's keys instead
// of the client's. 0x06: the step of the packet number. 0x08: another path. 0x10: deliver the waiting datagrams first.
// 0x20: time passes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fuzz/ends.hpp"
#include "fuzz/require.hpp"
#include "sim/insider.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {5, "a peer that seals random bytes loses its connection, and another connection delivers"}};

using namespace udtx;
using fuzz::require;

namespace {

using std::chrono::milliseconds;
constexpr std::size_t kBytes = 600;
constexpr std::size_t kMostPayload = 1200;

/// Sends some bytes on streams of both kinds, and reads what arrives.
class Talker final : public sim::App {
  public:
    void on_event(Instant /*now*/, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Connected>(event)) {
            connected = true;
            for (const StreamKind kind : {StreamKind::ordered, StreamKind::unordered}) {
                const auto stream = connection.open_stream(kind);
                if (!stream) continue;
                const std::vector<std::byte> bytes(kBytes / 2, std::byte{0x55});
                static_cast<void>(connection.write(*stream, Chunk::copy_of(bytes)));
            }
        }
        if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
            std::array<std::byte, 2048> block{};
            while (const std::size_t n = connection.read(readable->id, block).bytes) received += n;
        }
    }
    void on_piece(StreamId id, std::uint64_t /*offset*/, std::span<const std::byte> bytes) override {
        received += bytes.size();
        to_release = id;
        passed += bytes.size();
    }
    void on_tick(Instant /*now*/, proto::Connection& connection) override {
        if (passed > 0) connection.release_pieces(to_release, passed);
        passed = 0;
    }

    bool connected = false;
    std::uint64_t received = 0;
    std::uint64_t passed = 0;
    StreamId to_release;
};

class Target {
  public:
    Target()
        : client_keys_(fuzz::provider()),
          server_keys_(fuzz::provider()),
          client_(line_, 1, client_keys_),
          server_(line_, 2, server_keys_),
          bystander_(line_, 3, fuzz::provider()) {
        server_.listen(2, [this](proto::Connection&) { return answers_.emplace_back(std::make_shared<Talker>()); });
        const auto talker = std::make_shared<Talker>();
        client_.connect(server_.address(), talker);
        line_.settle(milliseconds(200), [&] { return talker->received >= kBytes; });
        require(talker->received == kBytes && client_keys_.ready() && server_keys_.ready(), "the connection is up");
    }

    void say(std::uint8_t kind, std::span<const std::byte> payload) {
        if ((kind & 0x10U) != 0) arrive();
        if ((kind & 0x20U) != 0) line_.pass(milliseconds(payload.size()));
        const bool by_server = (kind & 1U) != 0;
        sim::TappedProvider& keys = by_server ? server_keys_ : client_keys_;
        PacketNumber& next = next_[by_server ? 1 : 0];
        next = std::max(next, keys.last_number() + 1);
        static constexpr std::array<PacketNumber, 4> kSteps{0, 1, 2, 200};
        next += kSteps[(kind >> 1U) & 3U];
        const auto path = (kind & 8U) != 0 ? PathId{1} : PathId{0};
        auto packet = keys.forge(
            next, [&](wire::Writer& w) { w.bytes(payload); },
            payload.size() + wire::kShortHeaderBytes + wire::kTagBytes, path);
        const std::uint8_t from = by_server ? 2 : 1;
        line_.arrive({fuzz::address_of(from), fuzz::address_of(by_server ? 1 : 2), std::move(packet)});
    }

    void finish() {
        line_.settle(milliseconds(500));
        const auto talker = std::make_shared<Talker>();
        bystander_.connect(server_.address(), talker);
        line_.settle(std::chrono::seconds(3),
                     [&] { return talker->received >= kBytes && answers_.back()->received >= kBytes; });
        require(talker->received == kBytes, "another connection is served");
    }

  private:
    void arrive() {
        for (int i = 0; i < 64 && line_.waiting() > 0; ++i) line_.arrive(line_.take(0));
    }

    fuzz::Line line_;
    sim::TappedProvider client_keys_;
    sim::TappedProvider server_keys_;
    std::vector<std::shared_ptr<Talker>> answers_;
    fuzz::LineHost client_;
    fuzz::LineHost server_;
    fuzz::LineHost bystander_;
    std::array<PacketNumber, 2> next_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto in = std::as_bytes(std::span(data, size));
    Target target;
    for (int records = 0; in.size() >= 3 && records < 64; ++records) {
        const auto kind = static_cast<std::uint8_t>(in[0]);
        const std::size_t wanted = static_cast<std::size_t>(in[1]) | static_cast<std::size_t>(in[2]) << 8U;
        in = in.subspan(3);
        const auto payload = in.first(std::min({wanted, in.size(), kMostPayload}));
        in = in.subspan(payload.size());
        target.say(kind, payload);
    }
    target.finish();
    return 0;
}
