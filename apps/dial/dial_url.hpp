// Resolves udtx://HOST:PORT to addresses, and loads the keys for authentication.
#pragma once

#include <string>
#include <vector>

#include "common/url.hpp"
#include "options/common_options.hpp"
#include "udtx/address.hpp"
#include "udtx/credentials.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// The own key and the keys of --pin.
[[nodiscard]] Result<Credentials> dialling_credentials(const CommonOptions& options, const std::string& pin);
/// The caller tries them in this order.
[[nodiscard]] Result<std::vector<Address>> addresses_of(const Url& url, AddressChoice choice);

}  // namespace udtx::apps
