#include "io/driver.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/scarcity.hpp"
#include "io/driver_impl.hpp"
#include "io/short_slice.hpp"
#include "udtx/core/config_check.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::io {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Less than an IP packet's 65,535 bytes, headers included.
constexpr std::size_t kMaxBatchBytes = 65000;

std::size_t lane_count(std::size_t threads) { return std::clamp<std::size_t>(threads, 1, kMaxThreads) - 1; }

proto::EndpointDeps with_lanes(proto::EndpointDeps deps, std::size_t lanes) {
    deps.lanes = lanes;
    return deps;
}

}  // namespace

Driver::Impl::Impl(proto::EndpointDeps deps, TransportConfig config, Options options)
    : config_status_(proto::check(config)),
      endpoint_(with_lanes(deps, lane_count(options.threads)), std::move(config)),
      lane_count_(lane_count(options.threads)),
      options_(std::move(options)),
      send_buffer_(kMaxBatchBytes) {
    mailbox_->driver = this;
}

Driver::Impl::~Impl() {
    {
        const std::lock_guard lock(mailbox_->mutex);
        mailbox_->driver = nullptr;
    }
    for (const auto& [key, entry] : entries_) entry->connection->set_placed_sink(nullptr);
    if (readiness_) readiness_->release();  // the descriptor is the socket's
}

Result<void> Driver::Impl::open(const Address& bind) {
    if (!config_status_) return config_status_;
    auto socket = open_socket(bind, options_.socket);
    if (!socket) return socket.error();
    return open(std::move(*socket));
}

Result<void> Driver::Impl::open(std::unique_ptr<DatagramSocket> socket) {
    if (!config_status_) return config_status_;
    socket_ = std::move(socket);
    readiness_.emplace(context_, socket_->native_handle());
    wait_readable();
    return {};
}

std::shared_ptr<proto::Connection> Driver::Impl::connect(std::vector<proto::PathAddresses> ways,
                                                         std::shared_ptr<proto::ConnectionHandler> handler) {
    auto connection = endpoint_.connect(monotonic_now(), std::move(ways));
    adopt(connection, std::move(handler));
    schedule_turn();
    return connection;
}

void Driver::Impl::listen(std::size_t max_connections, AcceptCallback accept) {
    accept_ = std::move(accept);
    endpoint_.listen(max_connections);
}

// --- life of the loop

void Driver::Impl::run() {
    ask_for_short_slice();
    start_lanes();
    const auto work = asio::make_work_guard(context_);
    run_context();
    finished_ = false;
    context_.restart();
    lanes_.reset();
    waiting_room_ = false;
}

void Driver::Impl::run_context() {
    for (;;) {
        try {
            take_missed();
            schedule_turn();
            context_.run();
            if (finished_) return;
            context_.restart();
            continue;
        } catch (const std::exception&) {
            // No memory left, as a rule: others may soon give some back. What the turn would have set up is looked for
            // again.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            readable_ = readable_ || !waiting_readable_;
            armed_for_.reset();
            turn_scheduled_ = false;
            wakes_missed_ = true;
            if (must_give_up_draining()) finished_ = true;
        }
        if (finished_) return;
        if (context_.stopped()) context_.restart();
    }
}

/// A run that is to end does so in time, also without the memory to say goodbye.
bool Driver::Impl::must_give_up_draining() {
    if (!drain_wished_ && !stop_when_drained_) return false;
    const Instant now = monotonic_now();
    if (!drain_until_) drain_until_ = now + drain_at_most_.load();
    return now >= *drain_until_;
}

/// May be called again after it threw.
void Driver::Impl::take_missed() {
    if (finish_wished_.exchange(false)) return finish_run();
    if (wakes_missed_.exchange(false)) {
        const auto woken = [](const auto& entry) { return entry.second->woken->load(std::memory_order_acquire); };
        // A wake may forget entries.
        for (auto at = entries_.begin();
             (at = std::find_if(entries_.begin(), entries_.end(), woken)) != entries_.end();) {
            const EntryPtr entry = at->second;
            wake(entry->connection.get(), *entry->woken);
        }
    }
    if (drain_wished_) begin_draining(drain_at_most_);
}

void Driver::Impl::start_lanes() {
    if (lane_count_ == 0 || !socket_) return;
    // Without a thread for any of them the protocol thread does it all.
    try {
        lanes_ = std::make_unique<Lanes>(
            *socket_, lane_count_, kMaxBatchBytes,
            Lanes::Calls{
                .room =
                    [this] {
                        asio::post(context_, [this] {
                            waiting_room_ = false;
                            turn();
                        });
                    },
                .not_sent =
                    [this](const proto::Transmit& refused, const SendResult& why) {
                        asio::post(context_, [this, refused, why] {
                            on_not_sent(refused, why);
                            schedule_turn();
                        });
                    },
                .plan = [this](std::span<const std::byte> datagram) { return endpoint_.opening_of(datagram); }});
    } catch (const std::exception&) {
        lanes_.reset();
    }
}

void Driver::Impl::stop() {
    try {
        post([this] { finish_run(); });
    } catch (const std::exception&) {
        finish_wished_ = true;
        context_.stop();
    }
}

void Driver::Impl::stop_when_drained(Duration at_most) {
    try {
        post([this, at_most] { begin_draining(at_most); });
    } catch (const std::exception&) {
        drain_at_most_ = at_most;
        drain_wished_ = true;
        context_.stop();
    }
}

void Driver::Impl::begin_draining(Duration at_most) {
    drain_at_most_ = at_most;
    drain_wished_ = true;  // until there was memory for it
    stop_when_drained_ = true;
    drain_timer_.expires_after(at_most);
    drain_timer_.async_wait([this](error_code error) {
        if (!error && stop_when_drained_) finish_run();
    });
    schedule_turn();
    drain_wished_ = false;
}

void Driver::Impl::stop_if_drained() {
    if (stop_when_drained_ && !pending_ && endpoint_.connection_count() == 0) finish_run();
}

void Driver::Impl::finish_run() {
    finished_ = true;
    stop_when_drained_ = false;
    drain_timer_.cancel();
    transmit();
    if (lanes_) lanes_->send.flush();
    deliver();
    context_.stop();
}

void Driver::Impl::post(std::function<void()> fn) {
    asio::post(context_, [this, fn = std::move(fn)] {
        fn();
        schedule_turn();
    });
}

// --- connections and their handlers

Driver::Impl::EntryPtr Driver::Impl::adopt(std::shared_ptr<proto::Connection> connection,
                                           std::shared_ptr<proto::ConnectionHandler> handler) {
    if (handler) connection->set_placed_sink(handler.get());
    auto entry = std::make_shared<Entry>();
    entry->connection = std::move(connection);
    entry->handler = std::move(handler);
    entry->woken = std::make_shared<std::atomic<bool>>(false);
    entries_[entry->connection.get()] = entry;
    return entry;
}

Driver::Impl::EntryPtr Driver::Impl::find(const proto::Connection* connection) const {
    const auto found = entries_.find(connection);
    return found == entries_.end() ? nullptr : found->second;
}

proto::Waker Driver::Impl::waker_for(const proto::Connection& connection) {
    const EntryPtr entry = find(&connection);
    if (!entry) return [] {};
    return [mailbox = mailbox_, woken = entry->woken, key = &connection] {
        if (woken->exchange(true, std::memory_order_acq_rel)) return;  // one is on its way
        const std::lock_guard lock(mailbox->mutex);
        if (mailbox->driver == nullptr) return;
        // `woken` identifies the entry: another connection may live at the same place by then.
        try {
            asio::post(mailbox->driver->context_,
                       [driver = mailbox->driver, key, woken] { driver->wake(key, *woken); });
        } catch (const std::exception&) {
            mailbox->driver->wakes_missed_ = true;
            mailbox->driver->context_.stop();
        }
    };
}

void Driver::Impl::wake(const proto::Connection* connection, std::atomic<bool>& woken) {
    woken.store(false, std::memory_order_release);
    const EntryPtr entry = find(connection);
    if (!entry || entry->woken.get() != &woken) return;
    try {
        entry->handler->on_wake(monotonic_now(), *entry->connection);
    } catch (const std::exception& failed) {
        give_up(*entry->connection, failed);
    }
    deliver(entry);
    schedule_turn();
}

void Driver::Impl::take_new_connections() {
    while (auto connection = endpoint_.accept()) {
        EntryPtr entry;
        try {
            entry = adopt(connection, nullptr);  // so that the callback may ask for a Waker
            entry->connected = true;
            entry->handler = accept_ ? accept_(*connection) : nullptr;
        } catch (const std::exception& failed) {
            entries_.erase(connection.get());  // first: nobody may come to an entry without a handler
            give_up(*connection, failed);
            continue;
        }
        if (!entry->handler) {
            entries_.erase(connection.get());
            connection->close(monotonic_now(), 1, "not accepted");
            continue;
        }
        connection->set_placed_sink(entry->handler.get());
        deliver(entry);
    }
}

/// What a handler needs and cannot have ends its connection only.
void Driver::Impl::give_up(proto::Connection& connection, const std::exception& failed) {
    connection.give_up(monotonic_now(), failed);
    proto::CloseReason why;
    why.code = ErrorCode::internal;
    why.message = refusal_for_lack(failed);
    if (refused_) refused_(connection.remote(), why);
}

/// Returns true when anything was touched.
bool Driver::Impl::deliver() {
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

void Driver::Impl::tell_refused(proto::Connection& connection) {
    while (const auto event = connection.poll_event()) {
        const auto* closed = std::get_if<proto::event::Closed>(&*event);
        if (closed != nullptr && refused_) refused_(connection.remote(), closed->reason);
    }
}

void Driver::Impl::deliver(const EntryPtr& entry) {
    while (const auto event = entry->connection->poll_event()) {
        if (std::holds_alternative<proto::event::Connected>(*event)) {
            entry->connected = true;
            if (std::exchange(entry->refused, std::nullopt)) --refused_entries_;
        }
        const bool closed = std::holds_alternative<proto::event::Closed>(*event);
        if (closed) {
            entry->connection->set_placed_sink(nullptr);
            if (entry->refused) --refused_entries_;
            entries_.erase(entry->connection.get());
        }
        try {
            entry->handler->on_event(monotonic_now(), *entry->connection, *event);
        } catch (const std::exception& failed) {
            give_up(*entry->connection, failed);
        }
        if (closed) return;
    }
}

// --- Driver

Driver::Driver(proto::EndpointDeps deps, TransportConfig config, Options options)
    : impl_(std::make_unique<Impl>(deps, std::move(config), std::move(options))) {}
Driver::~Driver() = default;

Result<void> Driver::open(const Address& bind) { return impl_->open(bind); }
Result<void> Driver::open(std::unique_ptr<DatagramSocket> socket) { return impl_->open(std::move(socket)); }

Result<Address> Driver::local_address() const {
    if (impl_->socket() == nullptr) return Error{ErrorCode::internal, "the socket is not open"};
    return impl_->socket()->local_address();
}

bool Driver::heard() const noexcept { return impl_->heard(); }

std::string Driver::buffer_advice() const {
    return impl_->socket() == nullptr ? std::string() : impl_->socket()->buffer_advice();
}

std::shared_ptr<proto::Connection> Driver::connect(std::vector<proto::PathAddresses> ways,
                                                   std::shared_ptr<proto::ConnectionHandler> handler) {
    return impl_->connect(std::move(ways), std::move(handler));
}
void Driver::listen(std::size_t max_connections, AcceptCallback accept) {
    impl_->listen(max_connections, std::move(accept));
}
void Driver::on_refused(RefusedCallback refused) { impl_->on_refused(std::move(refused)); }
void Driver::run() { impl_->run(); }
void Driver::stop() { impl_->stop(); }
void Driver::stop_when_drained(Duration at_most) { impl_->stop_when_drained(at_most); }
proto::Waker Driver::waker_for(const proto::Connection& connection) { return impl_->waker_for(connection); }
void Driver::post(std::function<void()> fn) { impl_->post(std::move(fn)); }

}  // namespace udtx::io
