#include "compat/recorded_end.hpp"

#include <array>
#include <stdexcept>
#include <utility>
#include <variant>

#include "openssl/credentials.hpp"

namespace udtx::test {
namespace {

Role running = Role::client;  // the end whose handshake runs

void fill_of(Role role, std::span<std::byte> out) {
    const unsigned first = role == Role::client ? 0x11 : 0x91;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(first + 7 * i);
}

Address address(Role role) {
    Address a;
    a.family = Address::Family::v4;
    a.ip = {10, 0, 0, static_cast<std::uint8_t>(role == Role::client ? 1 : 2)};
    a.port = 7000;
    return a;
}

Role other(Role role) { return role == Role::client ? Role::server : Role::client; }

/// Tells fill_for_tls() which end runs, and keeps the exported secret.
class RecordedHandshake final : public crypto::Handshake {
  public:
    RecordedHandshake(Role role, std::unique_ptr<crypto::Handshake> tls,
                      std::shared_ptr<std::optional<crypto::Secret>> exported)
        : role_(role), tls_(std::move(tls)), exported_(std::move(exported)) {}

    Result<void> provide(std::span<const std::byte> bytes) override {
        running = role_;
        return tls_->provide(bytes);
    }
    std::vector<std::byte> take_output() override { return tls_->take_output(); }
    bool complete() const override { return tls_->complete(); }
    Result<crypto::Secret> export_secret(std::string_view label) override {
        auto secret = tls_->export_secret(label);
        if (secret) *exported_ = *secret;
        return secret;
    }
    std::span<const std::byte> peer_parameters() const override { return tls_->peer_parameters(); }
    std::span<const std::byte> peer_key() const override { return tls_->peer_key(); }

  private:
    Role role_;
    std::unique_ptr<crypto::Handshake> tls_;
    std::shared_ptr<std::optional<crypto::Secret>> exported_;
};

proto::EndpointDeps deps_of(crypto::Provider& provider, crypto::HandshakeFactory& handshakes, Rng& rng,
                            const Credentials& credentials) {
    return {.provider = &provider,
            .handshakes = &handshakes,
            .rng = &rng,
            .hello_key = openssl::hello_key(provider, credentials),
            .reset_key = openssl::reset_key(provider, credentials)};
}

/// No search for larger datagrams, so that the recording stays small.
TransportConfig config() {
    TransportConfig config;
    config.min_datagram = config.max_datagram = 1200;
    return config;
}

}  // namespace

void ConstantRng::fill(std::span<std::byte> out) { fill_of(role_, out); }

void fill_for_tls(std::span<std::byte> out) { fill_of(running, out); }

RecordedHandshakes::RecordedHandshakes(Role role, const Credentials& credentials, std::vector<std::byte> parameters)
    : role_(role), parameters_(std::make_shared<std::vector<std::byte>>(std::move(parameters))) {
    running = role;
    auto made = openssl::TlsHandshakeFactory::make(credentials);
    if (!made) throw std::runtime_error(made.error().message);
    tls_ = std::move(*made);
}

std::unique_ptr<crypto::Handshake> RecordedHandshakes::make_client(std::vector<std::byte> parameters) {
    running = role_;
    if (parameters_->empty()) *parameters_ = std::move(parameters);
    return std::make_unique<RecordedHandshake>(role_, tls_->make_client(*parameters_), exported_);
}

std::unique_ptr<crypto::Handshake> RecordedHandshakes::make_server(SelectParameters select) {
    running = role_;
    auto selected = [select = std::move(select),
                     kept = parameters_](std::span<const std::byte> client) -> Result<std::vector<std::byte>> {
        auto own = select(client);
        if (!own) return own;
        if (kept->empty()) *kept = std::move(*own);
        return *kept;
    };
    return std::make_unique<RecordedHandshake>(role_, tls_->make_server(std::move(selected)), exported_);
}

RecordedEnd::RecordedEnd(Role role, const Credentials& credentials, std::vector<std::byte> parameters)
    : role_(role),
      handshakes_(role, credentials, std::move(parameters)),
      endpoint_(deps_of(provider_, handshakes_, rng_, credentials), config()) {
    if (role == Role::server) endpoint_.listen(1);
}

void RecordedEnd::connect() {
    connection_ = endpoint_.connect(kBegin, address(Role::server));
    turn(kBegin);
}

void RecordedEnd::receive(Instant now, std::vector<std::byte> datagram) {
    endpoint_.handle_datagram(
        now, {.local = address(role_), .remote = address(other(role_)), .data = datagram, .received = now});
    turn(now);
}

void RecordedEnd::on_timeout(Instant now) {
    endpoint_.handle_timeout(now);
    turn(now);
}

void RecordedEnd::turn(Instant now) {
    std::array<std::byte, 2048> buffer;
    bool any = true;
    while (any) {
        any = false;
        while (const auto touched = endpoint_.poll_touched()) {
            while (const auto event = touched->poll_event()) on_event(*touched, *event);
            any = true;
        }
        while (auto accepted = endpoint_.accept()) {
            while (const auto event = accepted->poll_event()) on_event(*accepted, *event);
            connection_ = std::move(accepted);
            any = true;
        }
        while (const auto t = endpoint_.poll_transmit(now, 1, buffer)) {
            sent_.push_back({now, {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(t->size)}});
            any = true;
        }
    }
}

void RecordedEnd::on_event(proto::Connection& connection, const proto::Event& event) {
    const auto say = [&](StreamId id, const char* text) {
        const auto bytes = std::as_bytes(std::span(std::string_view(text)));
        if (!connection.write(id, Chunk::copy_of(bytes)) || !connection.finish(id)) {
            throw std::runtime_error("cannot write");
        }
    };
    if (std::holds_alternative<proto::event::Connected>(event) && role_ == Role::client) {
        say(connection.open_stream(StreamKind::ordered).value(), kRequest);
    }
    if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        std::array<std::byte, 256> bytes;
        const auto got = connection.read(readable->id, bytes);
        heard_.append(reinterpret_cast<const char*>(bytes.data()), got.bytes);
        if (got.end && role_ == Role::server) say(readable->id, kAnswer);
    }
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) closed_ = closed->reason.message;
}

}  // namespace udtx::test
