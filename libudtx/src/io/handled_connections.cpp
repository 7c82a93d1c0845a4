#include "io/handled_connections.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "io/known_paths.hpp"
#include "io/socket_setup.hpp"
#include "proto/candidates.hpp"
#include "udtx/system.hpp"

namespace udtx::io {

namespace {

/// A byte stream is still to come.
bool waits_for_stream(const HandledConnections::Entry& entry) {
    return std::ranges::any_of(entry.connection->candidates(), [](const proto::PathAddresses& candidate) {
        return candidate.after >= proto::Candidates::kNever;
    });
}

bool leads_to(const HandledConnections::Entry& entry, const Address& address) {
    return std::ranges::any_of(entry.connection->candidates(),
                               [&](const proto::PathAddresses& candidate) { return candidate.remote == address; });
}

void keep_refusal(HandledConnections::Entry& entry, const Refusal& refusal) {
    std::erase_if(entry.refusing, [&](const Refusal& one) { return one.remote == refusal.remote; });
    entry.refusing.push_back(refusal);
}

bool all_refused(const HandledConnections::Entry& entry) {
    return std::ranges::none_of(entry.connection->candidates(), [&](const proto::PathAddresses& candidate) {
        return candidate.after < proto::Candidates::kNever &&
               std::ranges::none_of(entry.refusing, [&](const Refusal& one) { return one.remote == candidate.remote; });
    });
}

Error error_of(const Refusal& refusal) {
    if (refusal.port_closed()) {
        return {ErrorCode::network, "nothing listens on UDP " + to_string(refusal.remote) +
                                        " (start the receiver there, or check host and port)"};
    }
    return {ErrorCode::no_route, describe_no_route(refusal.remote, refusal.error)};
}

}  // namespace

HandledConnections::~HandledConnections() {
    for (const auto& [key, entry] : entries_) entry->connection->set_piece_sink(nullptr);
}

HandledConnections::EntryPtr HandledConnections::add(std::shared_ptr<proto::Connection> connection,
                                                     std::shared_ptr<proto::ConnectionHandler> handler) {
    if (handler) connection->set_piece_sink(handler.get());
    auto entry = std::make_shared<Entry>(Entry{.connection = std::move(connection), .handler = std::move(handler)});
    entries_[entry->connection.get()] = entry;
    return entry;
}

HandledConnections::EntryPtr HandledConnections::find(const proto::Connection* connection) const {
    const auto found = entries_.find(connection);
    return found == entries_.end() ? nullptr : found->second;
}

HandledConnections::WokenFlag HandledConnections::woken_flag(const proto::Connection& connection) const {
    const EntryPtr entry = find(&connection);
    return entry ? entry->woken : nullptr;
}

bool HandledConnections::wake(const proto::Connection* connection, std::atomic<bool>& woken) {
    woken.store(false, std::memory_order_release);
    const EntryPtr entry = find(connection);
    if (!entry || entry->woken.get() != &woken) return false;
    try {
        entry->handler->on_wake(monotonic_now(), *entry->connection);
    } catch (const std::exception& failed) {
        give_up(*entry->connection, failed);
    }
    deliver(entry);
    return true;
}

void HandledConnections::wake_missed() {
    const auto woken = [](const auto& entry) { return entry.second->woken->load(std::memory_order_acquire); };
    // A wake may remove entries.
    for (auto at = entries_.begin(); (at = std::find_if(entries_.begin(), entries_.end(), woken)) != entries_.end();) {
        const EntryPtr entry = at->second;
        wake(entry->connection.get(), *entry->woken);
    }
}

void HandledConnections::take_new_connections() {
    while (auto connection = endpoint_.accept()) {
        EntryPtr entry;
        try {
            entry = add(connection, nullptr);  // so that the callback may ask for a Waker
            entry->connected = true;
            entry->handler = accept_ ? accept_(*connection) : nullptr;
        } catch (const std::exception& failed) {
            entries_.erase(connection.get());  // first: an entry without a handler must not be found
            give_up(*connection, failed);
            continue;
        }
        if (!entry->handler) {
            entries_.erase(connection.get());
            connection->close(monotonic_now(), 1, "not accepted");
            continue;
        }
        connection->set_piece_sink(entry->handler.get());
        deliver(entry);
    }
}

/// A handler that lacks a resource, or fails, ends only its own connection.
void HandledConnections::give_up(proto::Connection& connection, const std::exception& failed) {
    connection.give_up(monotonic_now(), failed);
    if (!refused_) return;
    refused_(connection.remote(), {.code = ErrorCode::internal, .message = end_for_exception(failed).message});
}

bool HandledConnections::deliver() {
    take_new_connections();
    bool any = false;
    while (const auto connection = endpoint_.poll_touched()) {
        any = true;
        if (const EntryPtr entry = find(connection.get())) {
            deliver(entry);
        } else if (!connection->connected()) {
            tell_refused(*connection);
        }
    }
    return any;
}

void HandledConnections::tell_refused(proto::Connection& connection) {
    while (const auto event = connection.poll_event()) {
        const auto* closed = std::get_if<proto::event::Closed>(&*event);
        if (closed != nullptr && refused_) refused_(connection.remote(), closed->reason);
    }
}

/// A connection starts with what earlier ones measured, and leaves what it measured.
void HandledConnections::keep_paths(proto::Connection& connection, const proto::Event& event) {
    KnownPaths& paths = KnownPaths::of_process();
    if (std::holds_alternative<proto::event::Connected>(event))
        recall_path(paths, connection, PathId{}, monotonic_now());
    if (const auto* path = std::get_if<proto::event::PathChanged>(&event); path && path->state == PathState::active)
        recall_path(paths, connection, path->id, monotonic_now());
    if (std::holds_alternative<proto::event::Closed>(event)) note_paths(paths, connection);
}

void HandledConnections::deliver(const EntryPtr& entry) {
    while (const auto event = entry->connection->poll_event()) {
        if (std::holds_alternative<proto::event::Connected>(*event)) {
            entry->connected = true;
            if (std::exchange(entry->refused, std::nullopt)) --refused_entries_;
        }
        const bool closed = std::holds_alternative<proto::event::Closed>(*event);
        if (closed) {
            entry->connection->set_piece_sink(nullptr);
            if (entry->refused) --refused_entries_;
            entries_.erase(entry->connection.get());
        }
        try {
            keep_paths(*entry->connection, *event);
            entry->handler->on_event(monotonic_now(), *entry->connection, *event);
        } catch (const std::exception& failed) {
            give_up(*entry->connection, failed);
        }
        if (closed) return;
    }
    entry->handler->on_turn_end();
}

void HandledConnections::note_refusals(Instant now, const std::vector<Refusal>& refusals) {
    for (const Refusal& refusal : refusals) {
        const Address& address = refusal.remote;
        const std::uint32_t bytes = refusal.datagram_bytes();
        for (const auto& [key, entry] : entries_) {
            if (bytes != 0 && (entry->connected || leads_to(*entry, address))) {
                entry->connection->on_size_told(address, bytes);
            }
            if (refusal.error == EMSGSIZE) continue;
            // An unreachable peer may become reachable again; a closed port stays closed.
            if (entry->connected && refusal.port_closed()) entry->connection->on_refused(now, address);
            // A peer that has answered exists, whatever a host on the path says.
            if (entry->connected || entry->refused || entry->told || entry->connection->heard()) continue;
            if (!leads_to(*entry, address)) continue;
            keep_refusal(*entry, refusal);
            if (!all_refused(*entry)) continue;
            entry->refused = now;
            ++refused_entries_;
        }
    }
}

void HandledConnections::note_no_route(Instant now, const Refusal& refusal, bool may_pass) {
    std::vector<EntryPtr> none;
    for (const auto& [key, entry] : entries_) {
        if (entry->connected || entry->told || entry->connection->heard() || !waits_for_stream(*entry)) continue;
        if (entry->refused || !leads_to(*entry, refusal.remote)) continue;
        keep_refusal(*entry, refusal);
        if (!all_refused(*entry)) continue;
        if (may_pass) {
            entry->refused = now;
            ++refused_entries_;
        } else {
            none.push_back(entry);
        }
    }
    for (const EntryPtr& entry : none) tell(now, *entry, error_of(entry->refusing.back()));
}

void HandledConnections::end_refused(Instant now) {
    if (refused_entries_ == 0) return;
    std::vector<EntryPtr> over;
    for (const auto& [key, entry] : entries_) {
        // A byte stream may have come meanwhile.
        if (entry->refused && (entry->connection->heard() || !all_refused(*entry))) {
            entry->refused.reset();
            --refused_entries_;
        }
        if (entry->refused && now - *entry->refused >= kRefusedGrace) over.push_back(entry);
    }
    for (const EntryPtr& entry : over) {
        const Error why = error_of(entry->refusing.back());
        if (!waits_for_stream(*entry)) {
            end(now, entry, why);
            continue;
        }
        entry->refused.reset();
        --refused_entries_;
        tell(now, *entry, why);
    }
}

void HandledConnections::tell(Instant now, Entry& entry, const Error& why) {
    entry.told = true;
    entry.handler->on_refused(now, *entry.connection, why);
}

void HandledConnections::end_all(Instant now, const Error& why) {
    std::vector<EntryPtr> all;
    for (const auto& [key, entry] : entries_) {
        if (entry->handler) all.push_back(entry);
    }
    for (const EntryPtr& entry : all) end(now, entry, why);
}

void HandledConnections::end(Instant now, const EntryPtr& entry, const Error& why) {
    if (entry->refused) --refused_entries_;
    entries_.erase(entry->connection.get());
    entry->connection->set_piece_sink(nullptr);
    entry->connection->refuse(now, why.message);
    entry->handler->on_event(now, *entry->connection, proto::event::Closed{{.code = why.code, .message = why.message}});
}

}  // namespace udtx::io
