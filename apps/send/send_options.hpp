// From the command line to what a transfer is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options/send_command.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::apps {

/// The same in each run of the same command; 0: it is not to be continued. `where`: the destination as typed, with its
/// host if the path alone does not tell it.
[[nodiscard]] std::uint64_t number_of(const SendCommand& command, const std::vector<std::string>& sources,
                                      const std::string& where);
/// The destination is `where`, for the receiver to judge.
[[nodiscard]] transfer::SendOptions send_options(const SendCommand& command, std::vector<std::string> sources,
                                                 const std::string& where);

}  // namespace udtx::apps
