// Sequences of operations at both ends of a connection, while datagrams are lost, damaged, duplicated and reordered.
// Each end reads exactly what the other wrote, in order and once. When the link is perfect again, everything arrives.
//
// Input: operations of two bytes: the kind (the top bit chooses the end), and an amount or index.
#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "fuzz/ends.hpp"
#include "fuzz/require.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {6, "data arrives unchanged, once and in order; on a link without faults all of it arrives"}};

using namespace udtx;
using fuzz::require;

namespace {

using std::chrono::milliseconds;
constexpr std::size_t kMostBytes = 60'000;  // per direction of a stream
constexpr std::size_t kMostStreams = 24;

/// State of one direction of a stream.
struct Course {
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    bool finished = false;
    bool given_up = false;  // reset or stopped
    bool end_read = false;
    std::bitset<kMostBytes> received;
};
using Courses = std::map<std::pair<std::uint64_t, int>, Course>;  // by stream and writing end

std::byte byte_at(StreamId id, int writer, std::uint64_t offset) {
    return static_cast<std::byte>((offset * 131U + (offset >> 8U) + id.value * 17U + static_cast<unsigned>(writer)) &
                                  0xffU);
}

class End final : public sim::App {
  public:
    End(Courses& courses, int number) : courses_(courses), number_(number) {}

    void on_event(Instant /*now*/, proto::Connection& /*connection*/, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Connected>(event)) connected = true;
        if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) add(opened->id);
        if (const auto* reset = std::get_if<proto::event::StreamReset>(&event)) add(reset->id);
        if (std::holds_alternative<proto::event::Closed>(event)) closed = true;
    }
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        Course& course = courses_[{id.value, 1 - number_}];
        require(offset + bytes.size() <= course.written, "no more arrives than was written");
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            require(bytes[i] == byte_at(id, 1 - number_, offset + i), "unordered bytes are those that were written");
            require(!course.received[offset + i], "each byte is delivered once");
            course.received[offset + i] = true;
        }
        held += bytes.size();
        held_of[id.value] += bytes.size();
    }
    void add(StreamId id) {
        if (std::find(streams.begin(), streams.end(), id) == streams.end()) streams.push_back(id);
    }

    std::vector<StreamId> streams;
    bool connected = false;
    bool closed = false;
    std::uint64_t held = 0;
    std::map<std::uint64_t, std::uint64_t> held_of;

  private:
    Courses& courses_;
    int number_;
};

class Target {
  public:
    Target() : client_(line_, 1, fuzz::provider()), server_(line_, 2, fuzz::provider()) {
        client_.add_number(3);
        ends_[0] = std::make_shared<End>(courses_, 0);
        ends_[1] = std::make_shared<End>(courses_, 1);
        server_.listen(1, [this](proto::Connection&) { return ends_[1]; });
        client_.connect(server_.address(), ends_[0]);
    }

    void act(std::uint8_t what, std::uint8_t much) {
        const int end = what >> 7U;
        if (const auto connection = connection_of(end)) use(*connection, end, what & 0x1fU, much);
        disturb(what & 0x1fU, much);
        (end == 0 ? client_ : server_).pump();
    }

    /// From here on the link is perfect.
    void finish() {
        line_.settle(std::chrono::seconds(100), [this] {
            for (const int end : {0, 1}) read_all(end);
            return over() || (all_read() && ends_[0]->connected && ends_[1]->connected);
        });
        // Without loss, long silence and a close the connection must not end, either.
        require((over() && troubled_) || (all_read() && ends_[0]->connected && ends_[1]->connected),
                "on a whole line everything arrives");
    }

  private:
    [[nodiscard]] std::shared_ptr<proto::Connection> connection_of(int end) {
        sim::ProtocolHost& host = end == 0 ? client_ : server_;
        return host.sessions().empty() ? nullptr : host.session(0).connection;
    }
    /// One of the ends has closed; data in flight is lost then.
    [[nodiscard]] bool over() const { return ends_[0]->closed || ends_[1]->closed; }
    [[nodiscard]] bool all_read() const {
        return std::all_of(courses_.begin(), courses_.end(), [](const auto& entry) {
            const Course& c = entry.second;
            const bool unordered = StreamId{entry.first.first}.kind() == StreamKind::unordered;
            return c.given_up ||
                   (unordered ? c.received.count() == c.written : c.read == c.written && c.end_read == c.finished);
        });
    }

    void use(proto::Connection& connection, int end, unsigned what, std::uint8_t much) {
        End& app = *ends_[static_cast<std::size_t>(end)];
        if (what == 0 && app.streams.size() < kMostStreams) {
            const auto opened = connection.open_stream((much & 1U) == 0 ? StreamKind::ordered : StreamKind::unordered);
            if (opened) app.add(*opened);
        }
        if (what == 12) connection.close(line_.now(), much, "enough");
        if (what == 13 && end == 0)
            static_cast<void>(connection.add_path(line_.now(), fuzz::address_of(3), server_.address(), {}));
        if (what == 14 && end == 0)
            static_cast<void>(connection.remove_path(line_.now(), PathId{static_cast<std::uint8_t>(much % 4)}));
        if (what == 15) connection.set_max_rate(Rate::bits_per_second(100'000.0 * (1 + much)));
        if (!app.streams.empty()) use_stream(connection, end, what, much);
    }

    void use_stream(proto::Connection& connection, int end, unsigned what, std::uint8_t much) {
        End& app = *ends_[static_cast<std::size_t>(end)];
        const StreamId id = app.streams[much % app.streams.size()];
        const bool mine = id.kind() == StreamKind::ordered || id.opener() == static_cast<Role>(end);
        const bool theirs = id.kind() == StreamKind::ordered || !mine;
        if (what >= 1 && what <= 3 && mine) write(connection, end, id, what == 1 ? 10 : what == 2 ? 1000 : 9000);
        if (what == 4 && mine && connection.finish(id)) courses_[{id.value, end}].finished = true;
        if (what == 5 && theirs) read(connection, end, id, 3000);
        if (what == 6 && mine) {
            connection.reset_stream(id, much);
            courses_[{id.value, end}].given_up = true;
        }
        if (what == 7 && theirs) {
            connection.stop_receiving(id, much);
            courses_[{id.value, 1 - end}].given_up = true;
        }
    }

    void write(proto::Connection& connection, int end, StreamId id, std::size_t length) {
        Course& course = courses_[{id.value, end}];
        if (course.written + length > kMostBytes) return;
        std::vector<std::byte> bytes(length);
        for (std::size_t i = 0; i < length; ++i) bytes[i] = byte_at(id, end, course.written + i);
        if (connection.write(id, Chunk::copy_of(bytes))) course.written += length;
    }

    void read(proto::Connection& connection, int end, StreamId id, std::size_t most) {
        if (id.kind() == StreamKind::unordered) {
            connection.release_pieces(id, std::exchange(ends_[static_cast<std::size_t>(end)]->held_of[id.value], 0));
            return;
        }
        Course& course = courses_[{id.value, 1 - end}];
        std::vector<std::byte> block(most);
        const auto got = connection.read(id, block);
        for (std::size_t i = 0; i < got.bytes; ++i) {
            require(block[i] == byte_at(id, 1 - end, course.read + i), "what is read is what was written, in order");
        }
        course.read += got.bytes;
        require(course.read <= course.written, "no more is read than was written");
        if (!got.end) return;
        require(course.given_up || (course.finished && course.read == course.written), "the end comes at the end");
        course.end_read = true;
    }

    void read_all(int end) {
        const auto connection = connection_of(end);
        if (!connection) return;
        for (const StreamId id : ends_[static_cast<std::size_t>(end)]->streams) read(*connection, end, id, 20'000);
    }

    void disturb(unsigned what, std::uint8_t much) {
        troubled_ = troubled_ || what == 12 || what == 14 || what == 16 || what == 17 ||
                    (what >= 25 && what != 27 && what != 29);
        if (what == 16) line_.pass(milliseconds(much));
        if (what == 17) line_.pass(milliseconds(40 * much));
        if (what == 18) client_.move(static_cast<std::uint16_t>(7000 + much % 8));
        if (what == 19) line_.settle(milliseconds(much));
        if (line_.waiting() == 0) return;
        if (what >= 20 && what <= 24) line_.arrive(line_.take(what < 23 ? 0 : much));
        if (what == 25 || what == 26) static_cast<void>(line_.take(much));
        if (what == 27) line_.arrive(line_.look(much));
        if (what == 28) {
            auto& bytes = line_.look(much).bytes;
            bytes[much % bytes.size()] ^= std::byte{0x10};
        }
        if (what == 29) {
            for (std::size_t n = line_.waiting(); n > 0; --n) line_.arrive(line_.take(0));
        }
        if (what == 30) {
            while (line_.waiting() > 0) static_cast<void>(line_.take(0));
        }
    }

    fuzz::Line line_;
    Courses courses_;
    std::array<std::shared_ptr<End>, 2> ends_;
    bool troubled_ = false;
    fuzz::LineHost client_;
    fuzz::LineHost server_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Target target;
    for (std::size_t i = 0; i + 2 <= std::min<std::size_t>(size, 400); i += 2) target.act(data[i], data[i + 1]);
    target.finish();
    return 0;
}
