#include "transfer/job/probe_job.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {
namespace {

constexpr std::size_t kBlockBytes = 256U << 10U;
/// The congestion controllers finish their start phase within this many round trips.
constexpr int kRoundTrips = 20;
constexpr Duration kLongest = std::chrono::seconds(15);

Chunk zeros(std::size_t bytes) {
    std::shared_ptr<std::byte[]> memory(new std::byte[bytes]());
    return Chunk(std::move(memory), bytes);
}

}  // namespace

ProbeJob::ProbeJob(Duration time, DoneCallback done)
    : time_(time), done_(std::move(done)), block_(zeros(kBlockBytes)) {}

std::optional<Duration> ProbeJob::handshake_time() const {
    const std::int64_t ns = handshake_ns_;
    return ns < 0 ? std::nullopt : std::optional<Duration>(std::chrono::nanoseconds(ns));
}

void ProbeJob::start(Instant now, proto::Connection& connection) {
    connected_at_ = now;
    handshake_ns_ = (now - connection.started()).count();
    const auto control = connection.open_stream(StreamKind::ordered);
    const auto data = control ? connection.open_stream(StreamKind::ordered) : control;
    if (!data) {
        connection.close(now, static_cast<std::uint64_t>(CloseCode::done), "");
        return end(data.error());
    }
    data_ = *data;
    message::Offer offer;
    offer.mode = TransferMode::probe;
    MessageWriter out;
    out.put(offer);
    (void)connection.write(*control, Chunk::copy_of(out.bytes()));
    report_.edit([](Progress& progress, Outcome&) { progress.phase = Phase::transfer; });
    fill(connection);
}

void ProbeJob::fill(proto::Connection& connection) {
    if (!data_ || ended_) return;
    while (connection.write_capacity(*data_) > 0) {
        if (!connection.write(*data_, block_)) return;
        written_ += kBlockBytes;
    }
    report_.edit([this](Progress& progress, Outcome&) { progress.bytes_sent = written_; });
}

void ProbeJob::end(Result<void> status) {
    if (std::exchange(ended_, true)) return;
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::done;
        outcome.status = std::move(status);
    });
    done_();
}

void ProbeJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    connection.close(now, static_cast<std::uint64_t>(close_code_for(code)), reason);
    end(Error{code, reason});
}

void ProbeJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) return start(now, connection);
    if (std::holds_alternative<proto::event::Writable>(event)) return fill(connection);
    if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        std::array<std::byte, 4096> ignored{};  // the receiver's reports are not needed
        while (connection.read(readable->id, ignored).bytes > 0) {
        }
        return;
    }
    const auto* closed = std::get_if<proto::event::Closed>(&event);
    if (closed == nullptr) return;
    const auto& reason = closed->reason;
    const ErrorCode code = reason.application ? error_code_for(reason.wire_code) : reason.code;
    const bool said = reason.application && reason.by_peer;
    end(Error{code, (said ? "receiver: " : "") + escape_line(reason.message)});
}

void ProbeJob::on_wake(Instant now, proto::Connection& connection) {
    if (ended_ || !data_) return;
    Duration rtt{};
    for (const PathStats& path : connection.stats().paths) rtt = std::max(rtt, path.smoothed_rtt);
    if (now - connected_at_ < std::min(std::max(time_, kRoundTrips * rtt), kLongest)) return fill(connection);
    end({});
    connection.close(now, static_cast<std::uint64_t>(CloseCode::done), "");
}

void ProbeJob::on_placed(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) {}

}  // namespace udtx::transfer
