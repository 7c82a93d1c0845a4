// TLS over a TCP connection, as the outer layer of datagrams on a byte stream. It hides from the network that these are
// datagrams of udtx, and proves nothing: the handshake inside does that, with the keys of the two ends.
#pragma once

#include <memory>
#include <string>

#include "openssl/handles.hpp"
#include "os/byte_stream.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::openssl {

/// The settings of one end. Several streams may use it.
class TlsStreams {
  public:
    /// A server makes a key and a certificate of its own, which last as long as this object.
    static Result<std::shared_ptr<TlsStreams>> make(Role role);

    /// Client: `server_name` is the host in the URL; empty: none is sent.
    [[nodiscard]] Result<std::unique_ptr<os::ByteStream>> over(UniqueFd connected, const std::string& server_name = {});

  private:
    TlsStreams(Role role, ContextPtr context) : role_(role), context_(std::move(context)) {}
    Role role_;
    ContextPtr context_;
};

}  // namespace udtx::openssl
