// The page in two forms: served as several files, or as one file with everything in it.
#pragma once

#include <string>
#include <string_view>

#include "assets/assets.hpp"
#include "observe/http_server.hpp"

namespace udtx::apps {

/// The file of the page at this address; 404 if there is none.
[[nodiscard]] HttpReply page_file(const PageAssets& assets, std::string_view target);
/// The page as one file that works anywhere and loads nothing. `nonce` is random, so that only the page's own scripts
/// run.
[[nodiscard]] std::string page_with_data(const PageAssets& assets, std::string_view data, std::string_view nonce);

}  // namespace udtx::apps
