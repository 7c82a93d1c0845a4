#include "soak/watch.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "soak/memory.hpp"

namespace udtx::soak {
namespace {

/// Allowance beside the windows: endpoints, buffers of batches, streams, histories.
constexpr std::uint64_t kFixedMemory = 8U << 20U;
/// Bytes per session and byte of its windows: reordered bytes of ordered streams, and a record of each packet sent.
constexpr std::uint64_t kMemoryForWindow = 2;

}  // namespace

Watch::Watch(World& world, Work& work, const Plan& plan)
    : world_(world), work_(work), plan_(plan), heap_before_(heap_in_use()) {}

void Watch::look(std::optional<Instant> since, std::size_t sessions) {
    look_at_memory(sessions);
    for (const Role from : {Role::client, Role::server}) {
        const auto i = static_cast<std::size_t>(from);
        const bool pending = since && work_.pending(from, world_.scenario().elapsed());
        if (pending && !pending_[i]) pending_since_[i] = world_.now();
        pending_[i] = pending;
        if (pending) look_for_stall(*since, from);
    }
}

void Watch::look_for_stall(Instant since, Role from) {
    const Instant now = world_.now();
    const std::uint64_t window = std::max(plan_.client.stream_window, plan_.server.stream_window);
    const Duration reading = work_.reading_time(from, window);
    const Instant begun = std::max({since, pending_since_[static_cast<std::size_t>(from)], work_.last_moved(from)});
    for (std::size_t line = 0; line < world_.line_count(); ++line) {
        const auto works = world_.works_since(line);
        if (!works || *works > now) continue;
        const Duration waited = now - std::max(begun, *works);
        const Duration allowed = world_.patience(line) + reading;
        longest_wait_ = std::max(longest_wait_, to_seconds(waited) / to_seconds(allowed));
        if (waited <= allowed || stall_told_) continue;
        stall_told_ = true;
        char text[200];
        std::snprintf(text, sizeof text,
                      "stall: nothing came from the %s for %.3f s, while line %zu worked for %.3f s (patience %.3f s)",
                      from == Role::client ? "client" : "server", to_seconds(now - begun), line,
                      to_seconds(now - *works), to_seconds(allowed));
        work_.violation(text + ("\n" + work_.state()));
    }
}

void Watch::look_at_memory(std::size_t sessions) {
    const std::uint64_t heap = heap_in_use();
    if (heap == 0) return;
    const std::uint64_t elsewhere = heap_before_ + world_.scenario().network().packet_memory();
    const std::uint64_t held = heap > elsewhere ? heap - elsewhere : 0;
    const std::uint64_t windows = plan_.client.connection_window + plan_.server.connection_window;
    // Each end may let the windows of all its connections together grow.
    const std::uint64_t growth = plan_.client.max_memory + plan_.server.max_memory;
    const std::uint64_t allowed = kFixedMemory + kMemoryForWindow * ((1 + sessions) * windows + growth);
    most_memory_bytes_ = std::max(most_memory_bytes_, held);
    most_memory_ = std::max(most_memory_, static_cast<double>(held) / static_cast<double>(allowed));
    if (held <= allowed || memory_told_) return;
    memory_told_ = true;
    work_.violation("memory: " + std::to_string(held) + " bytes are held by " + std::to_string(sessions) +
                    " sessions, whose windows allow " + std::to_string(allowed));
}

void Watch::on_closed(const proto::CloseReason& reason, Duration silence, bool was_up) {
    const Instant now = world_.now();
    const bool fell_silent = reason.code == ErrorCode::timeout || reason.code == ErrorCode::udp_blocked;
    if (!fell_silent) {
        work_.violation("the connection ended: " + reason.message);
        return;
    }
    if (now - silence < excused_until_) return;
    for (std::size_t line = 0; line < world_.line_count(); ++line) {
        const auto works = world_.works_since(line);
        // The client tries the lines in turn, so each of them needs its time.
        const auto turns = static_cast<int>(was_up ? 1 : world_.line_count());
        // The peer may have given up earlier, after an equally long silence. This end notices that only by silence.
        if (!works || now - *works <= std::max(2 * silence, turns * world_.patience(line))) continue;
        work_.violation(std::string(was_up ? "the connection ended" : "no connection came up") + " although line " +
                        std::to_string(line) + " worked: " + reason.message);
        return;
    }
}

void Watch::report(Outcome& outcome) const {
    outcome.longest_wait = longest_wait_;
    outcome.most_memory = most_memory_;
    outcome.most_memory_bytes = most_memory_bytes_;
}

}  // namespace udtx::soak
