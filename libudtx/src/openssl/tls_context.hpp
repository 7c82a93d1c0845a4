// SSL_CTX objects: all settings and callbacks of both roles.
#pragma once

#include "openssl/credentials_data.hpp"
#include "openssl/handles.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::openssl {

/// Every SSL made from it needs attach_state() before its first byte.
[[nodiscard]] Result<ContextPtr> make_context(Role role, const CredentialsData& credentials);

}  // namespace udtx::openssl
