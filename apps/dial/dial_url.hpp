// Who answers at udtx://HOST:PORT, and how the two know each other.
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

/// Own key, and the keys of --pin.
[[nodiscard]] Result<Credentials> dialling_credentials(const CommonOptions& options, const std::string& pin);
/// To be tried in turn.
[[nodiscard]] Result<std::vector<Address>> addresses_of(const Url& url, AddressChoice choice);

}  // namespace udtx::apps
