#include "sim/apps.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include "sim/event_queue.hpp"

namespace udtx::sim {

namespace {
constexpr std::size_t kPingBytes = 64;
}  // namespace

// --- Sender

void Sender::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        if (options_.known) connection.recall(PathId{}, *options_.known);
        const auto opened = connection.open_stream(options_.kind);
        if (!opened) return;
        stream_ = *opened;
        fill(connection);
    } else if (std::holds_alternative<proto::event::Writable>(event)) {
        if (options_.late > Duration{}) {
            wake_at(now + options_.late);
        } else {
            fill(connection);
        }
    } else if (std::holds_alternative<proto::event::StreamDelivered>(event)) {
        delivered_at_ = now;
        if (options_.close_when_delivered) connection.close(now, 0, "done");
    }
}

void Sender::on_wake(Instant /*now*/, proto::Connection& connection) { fill(connection); }

void Sender::fill(proto::Connection& connection) {
    while (written_ < options_.bytes) {
        const std::uint64_t room = connection.write_capacity(stream_);
        if (room == 0) return;
        const auto size = static_cast<std::size_t>(
            std::min({room, options_.bytes - written_, static_cast<std::uint64_t>(options_.chunk)}));
        if (!connection.write(stream_, pattern::chunk(written_, size))) return;
        written_ += size;
    }
    if (!finished_) {
        finished_ = true;
        (void)connection.finish(stream_);
    }
}

// --- Receiver

void Receiver::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        stream_ = readable->id;
        readable_ = true;
        if (options_.bytes_per_second == 0) read_ordered(now, connection, UINT64_MAX);
    } else if (const auto* received = std::get_if<proto::event::StreamReceived>(&event)) {
        if (ledger_.complete(received->size)) complete_at_ = now;
    }
}

void Receiver::take(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (!pattern::matches(offset, bytes)) ++wrong_;
    if (!ledger_.add(offset, bytes.size())) ++repeated_;
    tick_bytes_ += bytes.size();
}

void Receiver::on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    stream_ = id;
    take(offset, bytes);
    held_ += bytes.size();
    most_held_ = std::max(most_held_, held_);
}

void Receiver::on_tick(Instant now, proto::Connection& connection) {
    if (tick_bytes_ > 0) {
        tick_bytes_ = 0;
        last_progress_ = now;
        by_second_[(now - kStart) / std::chrono::seconds(1)] = ledger_.total();
    }
    if (options_.bytes_per_second == 0) {
        if (held_ > 0) release(connection, held_);
    } else if (held_ > 0 || readable_) {
        wake_later(now);
    }
}

std::uint64_t Receiver::budget() const noexcept {
    return options_.bytes_per_second * static_cast<std::uint64_t>(options_.read_every.count()) / 1'000'000'000U;
}

void Receiver::wake_later(Instant now) {
    if (wake_set_) return;
    wake_set_ = true;
    wake_at(now + options_.read_every);
}

void Receiver::on_wake(Instant now, proto::Connection& connection) {
    wake_set_ = false;
    if (held_ > 0) release(connection, budget());
    if (readable_) read_ordered(now, connection, budget());
    if (held_ > 0 || readable_) wake_later(now);
}

void Receiver::release(proto::Connection& connection, std::uint64_t at_most) {
    const std::uint64_t n = std::min(at_most, held_);
    held_ -= n;
    connection.release_pieces(*stream_, n);
}

void Receiver::read_ordered(Instant now, proto::Connection& connection, std::uint64_t at_most) {
    scratch_.resize(64U << 10U);
    while (at_most > 0) {
        const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(at_most, scratch_.size()));
        const auto got = connection.read(*stream_, std::span(scratch_).first(want));
        if (got.bytes > 0) take(ordered_offset_, std::span<const std::byte>(scratch_).first(got.bytes));
        ordered_offset_ += got.bytes;
        at_most -= got.bytes;
        if (got.end && !complete_at_) complete_at_ = now;
        if (got.bytes == 0) {
            readable_ = false;
            return;
        }
    }
}

// --- Ping and Echo

void Ping::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        if (const auto opened = connection.open_stream(StreamKind::ordered)) {
            stream_ = *opened;
            send(now, connection);
        }
        return;
    }
    if (!std::holds_alternative<proto::event::Readable>(event)) return;
    std::array<std::byte, kPingBytes> in{};
    while (const std::size_t got = connection.read(stream_, in).bytes) {
        awaited_ -= std::min(awaited_, got);
        if (awaited_ > 0) continue;
        ++answered_;
        longest_ = std::max(longest_, now - sent_);
        if (answered_ < rounds_) wake_at(now + pause_);
    }
}

void Ping::on_wake(Instant now, proto::Connection& connection) { send(now, connection); }

void Ping::send(Instant now, proto::Connection& connection) {
    sent_ = now;
    awaited_ = kPingBytes;
    (void)connection.write(stream_, pattern::chunk(0, kPingBytes));
}

void Echo::on_event(Instant /*now*/, proto::Connection& connection, const proto::Event& event) {
    const auto* readable = std::get_if<proto::event::Readable>(&event);
    if (readable == nullptr) return;
    std::array<std::byte, 4096> in{};
    while (const std::size_t got = connection.read(readable->id, in).bytes) {
        (void)connection.write(readable->id, Chunk::copy_of(std::span<const std::byte>(in).first(got)));
    }
}

}  // namespace udtx::sim
