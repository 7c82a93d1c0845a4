#include "send/send_options.hpp"

#include <utility>

#include "udtx/transfer/resume.hpp"

namespace udtx::apps {

std::uint64_t number_of(const SendCommand& command, const std::vector<std::string>& sources, const std::string& where) {
    return command.resumable() ? transfer::transfer_number(sources, where) : 0;
}

transfer::SendJobOptions send_options(const SendCommand& command, std::vector<std::string> sources,
                                      const std::string& where) {
    transfer::SendJobOptions options;
    options.transfer = number_of(command, sources, where);
    options.sources = std::move(sources);
    // A list of names counts from what the source holds.
    if (command.tree.names && !options.sources.front().ends_with("/.")) options.sources.front() += "/.";
    options.destination = where;
    options.preserve = command.common.preserve;
    options.hash =
        command.common.checksum == "sha256" ? transfer::HashAlgorithm::sha256 : transfer::HashAlgorithm::xxh3_128;
    command.tree.fill(options);
    return options;
}

}  // namespace udtx::apps
