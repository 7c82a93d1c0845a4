// Makes SSL_CTX objects, with all settings and callbacks of both roles.
#pragma once

#include "openssl/credentials_data.hpp"
#include "openssl/handles.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::openssl {

/// Call attach_state() for every SSL made from it, before its first byte.
[[nodiscard]] Result<ContextPtr> make_context(Role role, const CredentialsData& credentials);

}  // namespace udtx::openssl
