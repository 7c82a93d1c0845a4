// The page as it is served, and as one file with everything in it.
#pragma once

#include <string>
#include <string_view>

#include "assets/assets.hpp"
#include "observe/http_server.hpp"

namespace udtx::apps {

/// What the page consists of, by its address; 404 for what it does not have.
[[nodiscard]] HttpReply page_file(const PageAssets& assets, std::string_view target);
/// Works from anywhere and loads nothing. `nonce`: random, so that only the scripts which are meant to may run.
[[nodiscard]] std::string page_with_data(const PageAssets& assets, std::string_view data, std::string_view nonce);

}  // namespace udtx::apps
