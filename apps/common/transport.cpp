#include "common/transport.hpp"

#include <utility>

#include "io/monotonic_clock.hpp"
#include "openssl/cipher_speed.hpp"
#include "openssl/credentials_data.hpp"

namespace udtx::apps {

Result<std::unique_ptr<Transport>> Transport::make(const Credentials& credentials, const TransportConfig& config,
                                                   const io::Driver::Options& options) {
    auto handshakes = openssl::TlsHandshakeFactory::make(credentials);
    if (!handshakes) return handshakes.error();
    return std::unique_ptr<Transport>(new Transport(std::move(*handshakes), credentials, config, options));
}

Transport::Transport(std::unique_ptr<openssl::TlsHandshakeFactory> handshakes, const Credentials& credentials,
                     const TransportConfig& config, const io::Driver::Options& options)
    : handshakes_(std::move(handshakes)), driver_(deps(credentials), config, options) {}

proto::EndpointDeps Transport::deps(const Credentials& credentials) {
    const auto speed = openssl::rate_ciphers(provider_, io::monotonic_now);
    proto::EndpointDeps deps;
    deps.provider = &provider_;
    deps.handshakes = handshakes_.get();
    deps.rng = &rng_;
    deps.hello_key = openssl::hello_key(provider_, credentials);
    deps.aes_gcm_speed = speed.aes_gcm;
    deps.chacha20_speed = speed.chacha20;
    return deps;
}

Transport::~Transport() { stop(Duration::zero()); }

void Transport::start() {
    thread_ = std::thread([this] {
        {
            const std::lock_guard lock(mutex_);
            thread_time_.emplace();
        }
        driver_.run();
        const std::lock_guard lock(mutex_);
        thread_time_.reset();
    });
}

Duration Transport::thread_time() const {
    const std::lock_guard lock(mutex_);
    return thread_time_ ? thread_time_->needed() : Duration();
}

void Transport::stop(Duration at_most) {
    if (!thread_.joinable()) return;
    driver_.stop_when_drained(at_most);
    thread_.join();
}

}  // namespace udtx::apps
