#include "caller.hpp"

#include <chrono>
#include <utility>

#include "carrier.hpp"
#include "peer_program.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/system.hpp"

namespace udtx::hostile {

using namespace transfer;

namespace {

constexpr auto kConnectsWithin = std::chrono::seconds(20);

}  // namespace

Ending Caller::call(io::Driver& driver, const Address& server, Speech speech, Duration patience) {
    auto self = std::make_shared<Caller>(std::move(speech));
    auto connection = std::make_shared<std::shared_ptr<proto::Connection>>();
    const auto way = std::make_shared<Way>(way_to(server));
    driver.post([&driver, way, self, connection] { *connection = connect(driver, *way, self); });
    std::unique_lock lock(self->mutex_);
    self->changed_.wait_for(lock, kConnectsWithin, [&] { return self->ending_.connected || self->ending_.over; });
    self->changed_.wait_for(lock, patience, [&] { return self->ending_.over; });
    Ending ending = self->ending_;
    lock.unlock();
    // Close the connection even if the server still waits, so that the server is done with it before the next client.
    driver.post([connection] {
        if (*connection) (*connection)->close(monotonic_now(), 1, "nothing more");
        connection->reset();
    });
    lock.lock();
    self->changed_.wait_for(lock, std::chrono::seconds(5), [&] { return self->closed_; });
    lock.unlock();
    if (way->far_end != 0) ending.far_code = code_of(way->far_end);
    return ending;
}

void Caller::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        speak(connection);
        const std::lock_guard lock(mutex_);
        ending_.connected = true;
        changed_.notify_all();
    }
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        if (!std::exchange(ending_.over, true)) {
            ending_.code = closed->reason.wire_code;
            ending_.reason = closed->reason.message;
        }
        return changed_.notify_all();
    }
    if (control_) read(now, connection);
}

void Caller::on_wake(Instant /*now*/, proto::Connection& /*connection*/) {}

void Caller::on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    ending_.data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void Caller::speak(proto::Connection& connection) {
    control_ = test::need(connection.open_stream(StreamKind::ordered));
    test::need(connection.write(*control_, Chunk::copy_of(speech_.control)));
    if (!speech_.data.empty()) {
        const StreamKind kind = speech_.ordered_data ? StreamKind::ordered : StreamKind::unordered;
        const StreamId data = test::need(connection.open_stream(kind));
        test::need(connection.write(data, Chunk::copy_of(std::as_bytes(std::span(speech_.data)))));
        if (speech_.end_data) test::need(connection.finish(data));
    }
    if (speech_.second_stream) {
        const StreamId other = test::need(connection.open_stream(StreamKind::ordered));
        test::need(connection.write(other, Chunk::copy_of(std::as_bytes(std::span(std::string_view("more"))))));
    }
    if (speech_.end_control) test::need(connection.finish(*control_));
    if (speech_.reset_control) connection.reset_stream(*control_, 0);
}

void Caller::read(Instant now, proto::Connection& connection) {
    std::array<std::byte, 4096> block{};
    for (;;) {
        const auto got = connection.read(*control_, block);
        if (got.bytes == 0) break;
        reader_.feed(std::span(block).first(got.bytes));
        while (const auto next = test::need(reader_.next())) hear(*next);
    }
    const std::lock_guard lock(mutex_);
    if (ending_.over) connection.close(now, 0, "");
}

void Caller::hear(const Message& message) {
    const std::lock_guard lock(mutex_);
    if (const auto* failed = std::get_if<message::FileFailed>(&message)) ending_.failed.push_back(*failed);
    if (const auto* stopped = std::get_if<message::Stopped>(&message)) {
        ending_.over = true;
        ending_.code = stopped->code;
        ending_.reason = stopped->reason;
    }
    if (const auto* confirm = std::get_if<message::Confirm>(&message)) {
        ending_.over = ending_.confirmed = true;
        ending_.totals = confirm->totals;
    }
    if (ending_.over) changed_.notify_all();
}

}  // namespace udtx::hostile
