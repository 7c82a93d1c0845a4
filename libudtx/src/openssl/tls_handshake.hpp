// Implements crypto::Handshake with OpenSSL: TLS 1.3 over memory BIOs.
#pragma once

#include <memory>
#include <vector>

#include "udtx/core/crypto.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"

namespace udtx::openssl {

/// Makes any number of handshakes in either role from one set of credentials. A handshake may outlive its factory.
class TlsHandshakeFactory final : public crypto::HandshakeFactory {
  public:
    /// On success OpenSSL has found every algorithm that a handshake needs; otherwise it returns an error.
    static Result<std::unique_ptr<TlsHandshakeFactory>> make(const Credentials& credentials);
    ~TlsHandshakeFactory() override;

    std::unique_ptr<crypto::Handshake> make_client(std::vector<std::byte> parameters) override;
    std::unique_ptr<crypto::Handshake> make_server(SelectParameters select) override;

  private:
    class Contexts;
    explicit TlsHandshakeFactory(std::unique_ptr<Contexts> contexts);
    Result<void> rehearse();
    std::unique_ptr<Contexts> contexts_;
};

}  // namespace udtx::openssl
