// Sources and destinations as users type them and as they are sent over ssh.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "udtx/transfer/destination.hpp"

namespace udtx::apps {

using transfer::find_landing;
using transfer::is_fresh;
using transfer::LandingPlace;
using transfer::names_of;
using transfer::shape_of;
using transfer::SourceShape;

[[nodiscard]] std::string_view to_string(SourceShape shape) noexcept;
[[nodiscard]] std::optional<SourceShape> parse_source_shape(std::string_view text) noexcept;

/// Expands "~" and "~user" at the front, as a shell does.
[[nodiscard]] std::string expand_home(const std::string& path);

}  // namespace udtx::apps
