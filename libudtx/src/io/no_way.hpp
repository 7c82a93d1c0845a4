// Error messages for destinations that the system cannot send to.
#pragma once

#include <string>

#include "udtx/address.hpp"

namespace udtx::io {

/// True for a link-local address without an interface: the system would use any.
[[nodiscard]] bool lacks_zone(const Address& address) noexcept;
/// The system's text for `error`, and advice.
[[nodiscard]] std::string describe_no_way(const Address& remote, int error);

}  // namespace udtx::io
