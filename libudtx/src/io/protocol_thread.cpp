#include "io/protocol_thread.hpp"

#include <openssl/rand.h>

#include <cassert>
#include <chrono>
#include <exception>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "io/path_plan.hpp"
#include "openssl/credentials.hpp"
#include "openssl/provider.hpp"
#include "os/system.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/system.hpp"

namespace udtx::io {
namespace {

thread_local bool is_protocol_thread = false;

/// Measured once per process.
const openssl::CipherSpeed& cipher_speed(crypto::Provider& provider) {
    static const openssl::CipherSpeed speed = openssl::rate_ciphers(provider, monotonic_now);
    return speed;
}

}  // namespace

Result<EndpointDeps::Keys> EndpointDeps::make_keys(const Credentials& credentials) {
    auto handshakes = openssl::TlsHandshakeFactory::make(credentials);
    if (!handshakes) return handshakes.error();
    openssl::OpensslProvider provider;
    return Keys{std::move(*handshakes), openssl::hello_key(provider, credentials),
                openssl::reset_key(provider, credentials)};
}

EndpointDeps::EndpointDeps(Keys keys) {
    view_.provider = &provider_;
    view_.rng = &rng_;
    view_.aes_gcm_speed = cipher_speed(provider_).aes_gcm;
    view_.chacha20_speed = cipher_speed(provider_).chacha20;
    static_cast<void>(exchange(std::move(keys)));
}

EndpointDeps::Keys EndpointDeps::exchange(Keys keys) {
    Keys earlier{std::exchange(handshakes_, std::move(keys.handshakes)), view_.hello_key, view_.reset_key};
    view_.handshakes = handshakes_.get();
    view_.hello_key = keys.hello;
    view_.reset_key = keys.reset;
    return earlier;
}

bool ProtocolThread::on_one() noexcept { return is_protocol_thread; }

void ProtocolThread::prepare() {
    openssl::OpensslProvider provider;
    static_cast<void>(cipher_speed(provider));
}

Result<std::unique_ptr<ProtocolThread>> ProtocolThread::make(const Credentials& credentials,
                                                             const TransportConfig& config,
                                                             const Driver::Options& options) {
    if (const auto good = proto::check(config); !good) return good.error();
    auto keys = EndpointDeps::make_keys(credentials);
    if (!keys) return keys.error();
    return std::unique_ptr<ProtocolThread>(new ProtocolThread(std::move(*keys), config, options));
}

std::shared_ptr<ProtocolThread> ProtocolThread::share(std::unique_ptr<ProtocolThread> thread) {
    return {thread.release(), [](ProtocolThread* last) {
                if (last->fork_guard_.forked()) return;
                const auto end = [last] {
                    last->stop(kDrainAtMost);
                    delete last;
                };
                if (last->thread_.get_id() != std::this_thread::get_id()) return end();
                std::thread(end).detach();
            }};
}

ProtocolThread::~ProtocolThread() { stop(Duration::zero()); }

bool ProtocolThread::set_keys(EndpointDeps::Keys keys) {
    const EndpointDeps::Keys earlier = deps_.exchange(std::move(keys));
    driver_.set_keys(deps_.view());
    return earlier.hello != deps_.view().hello_key;
}

void ProtocolThread::start() {
    assert(!thread_.joinable());
    const auto run = [this] {
        is_protocol_thread = true;
        try {
            const Lock lock(mutex_);
            thread_time_.emplace();
        } catch (const std::exception&) {
            // thread_time() then returns 0.
        }
        driver_.run();
        const Lock lock(mutex_);
        thread_time_.reset();
    };
    try {
        thread_ = std::thread(run);
    } catch (const std::system_error& failed) {
        throw std::system_error(failed.code(),
                                "cannot start a protocol thread; " + remedy_for_no_thread(failed.code().value()));
    }
}

Duration ProtocolThread::thread_time() const {
    const Lock lock(mutex_);
    return thread_time_ ? thread_time_->needed() : Duration();
}

void ProtocolThread::begin_stop(Duration at_most) {
    const Lock lock(stop_);
    if (thread_.joinable()) driver_.stop_when_drained(at_most);
}

void ProtocolThread::stop(Duration at_most) {
    const Lock lock(stop_);
    if (!thread_.joinable()) return;
    driver_.stop_when_drained(at_most);
    thread_.join();
}

}  // namespace udtx::io

namespace udtx {

Instant monotonic_now() noexcept {
    return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

void SystemRng::fill(std::span<std::byte> out) {
    constexpr std::size_t kMost = std::numeric_limits<int>::max();
    while (!out.empty()) {
        const std::size_t part = out.size() < kMost ? out.size() : kMost;
        if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(part)) != 1) {
            throw std::bad_alloc();  // OpenSSL lacks memory for its generator
        }
        out = out.subspan(part);
    }
}

}  // namespace udtx
