// Converts the command line to the options of a transfer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options/send_command.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::apps {

/// Identifies the transfer. The number is the same for each run of a command; 0: the transfer cannot be continued.
/// `where`: the destination as typed, with the host if the path alone does not identify it.
[[nodiscard]] std::uint64_t number_of(const SendCommand& command, const std::vector<std::string>& sources,
                                      const std::string& where);
/// `where` is the destination, which the receiver checks.
[[nodiscard]] transfer::SendOptions send_options(const SendCommand& command, std::vector<std::string> sources,
                                                 const std::string& where);

}  // namespace udtx::apps
