// Checks a TransportConfig, and rates that are set later.
#pragma once

#include <string>

#include "udtx/config.hpp"
#include "udtx/export.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::proto {

/// Checks all members, and calls each factory once. invalid_argument: a member is invalid; the message has its name and
/// the allowed values.
[[nodiscard]] UDTX_EXPORT Result<void> check(const TransportConfig& config);
/// True if `rate` may be a cap: it is above zero. This holds for TransportConfig::max_rate,
/// TransportConfig::max_receive_rate and caps that are set later.
[[nodiscard]] constexpr bool may_cap(Rate rate) noexcept { return rate > Rate(); }
/// Checks may_cap(rate). invalid_argument: the rate cannot be a cap; the message contains `name`.
[[nodiscard]] UDTX_EXPORT Result<void> check_cap(Rate rate, const std::string& name);

}  // namespace udtx::proto
