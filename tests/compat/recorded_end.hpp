// One end of a handshake in virtual time, whose randomness and transport parameters are fixed: what the other end sent
// to it once can be sent to it again. The protocol and TLS are the real ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "openssl/provider.hpp"
#include "openssl/tls_handshake.hpp"
#include "udtx/config.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/credentials.hpp"
#include "udtx/rate.hpp"

namespace udtx::test {

inline constexpr Instant kBegin{std::chrono::seconds(1000)};

/// The same bytes each time, so that it does not matter how often and in which order an end draws.
class ConstantRng final : public Rng {
  public:
    explicit ConstantRng(Role role) : role_(role) {}
    void fill(std::span<std::byte> out) override;

  private:
    Role role_;
};

/// Bytes for OpenSSL: those of the end whose handshake runs.
void fill_for_tls(std::span<std::byte> out);

/// The handshakes of one end. A later release has other transport parameters. TLS covers them, so that it must send
/// those of the recording.
class RecordedHandshakes final : public crypto::HandshakeFactory {
  public:
    /// `parameters`: sent in place of those of this release; empty: those of this release are sent and kept here.
    RecordedHandshakes(Role role, const Credentials& credentials, std::vector<std::byte> parameters);
    std::unique_ptr<crypto::Handshake> make_client(std::vector<std::byte> parameters) override;
    std::unique_ptr<crypto::Handshake> make_server(SelectParameters select) override;

    [[nodiscard]] const std::vector<std::byte>& parameters() const noexcept { return *parameters_; }
    /// The secret of the data keys, once it was exported.
    [[nodiscard]] const std::optional<crypto::Secret>& exported() const noexcept { return *exported_; }

  private:
    Role role_;
    std::shared_ptr<std::vector<std::byte>> parameters_;
    std::shared_ptr<std::optional<crypto::Secret>> exported_ = std::make_shared<std::optional<crypto::Secret>>();
    std::unique_ptr<openssl::TlsHandshakeFactory> tls_;
};

struct Sent {
    Instant at;
    std::vector<std::byte> datagram;
};

/// A client opens a stream and sends kRequest; a server answers kAnswer on it.
class RecordedEnd {
  public:
    static constexpr const char* kRequest = "what the client sends first";
    static constexpr const char* kAnswer = "and what the server answers";

    RecordedEnd(Role role, const Credentials& credentials, std::vector<std::byte> parameters);
    /// The client's first step.
    void connect();
    /// Takes a datagram of the other end.
    void receive(Instant now, std::vector<std::byte> datagram);
    [[nodiscard]] std::optional<Instant> due() const { return endpoint_.poll_timeout(); }
    void on_timeout(Instant now);

    [[nodiscard]] std::vector<Sent>& sent() noexcept { return sent_; }
    [[nodiscard]] const std::string& heard() const noexcept { return heard_; }
    [[nodiscard]] const std::optional<std::string>& closed() const noexcept { return closed_; }
    [[nodiscard]] const RecordedHandshakes& handshakes() const noexcept { return handshakes_; }

  private:
    void turn(Instant now);
    void on_event(proto::Connection& connection, const proto::Event& event);

    Role role_;
    ConstantRng rng_{role_};
    openssl::OpensslProvider provider_;
    RecordedHandshakes handshakes_;
    proto::Endpoint endpoint_;
    std::shared_ptr<proto::Connection> connection_;
    std::vector<Sent> sent_;
    std::string heard_;
    std::optional<std::string> closed_;
};

}  // namespace udtx::test
