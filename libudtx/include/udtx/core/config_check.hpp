// The check of a TransportConfig, and of rates that are set later.
#pragma once

#include <string>

#include "udtx/config.hpp"
#include "udtx/export.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::proto {

/// Checks all members, and makes one object by each factory. invalid_argument: a member is wrong; the message names it
/// and what it may be.
[[nodiscard]] UDTX_EXPORT Result<void> check(const TransportConfig& config);
/// A rate can be a cap (TransportConfig::max_rate, TransportConfig::max_receive_rate), at first or later: it is above
/// zero.
[[nodiscard]] constexpr bool may_cap(Rate rate) noexcept { return rate > Rate(); }
/// The same as a result. invalid_argument: it cannot; the message says so of `name`.
[[nodiscard]] UDTX_EXPORT Result<void> check_cap(Rate rate, const std::string& name);

}  // namespace udtx::proto
