// What to say of a destination that the system has no way to.
#pragma once

#include <string>

#include "udtx/address.hpp"

namespace udtx::io {

/// A link-local address that does not say on which link: the system takes any.
[[nodiscard]] bool lacks_zone(const Address& address) noexcept;
/// The system's own word for `error`, and where to look.
[[nodiscard]] std::string describe_no_way(const Address& remote, int error);

}  // namespace udtx::io
