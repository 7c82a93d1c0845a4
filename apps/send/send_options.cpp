#include "send/send_options.hpp"

#include <utility>

#include "udtx/transfer/resume.hpp"

namespace udtx::apps {

std::uint64_t number_of(const SendCommand& command, const std::vector<std::string>& sources, const std::string& where) {
    if (command.resumable() && command.tree.shards.shard) return command.tree.shards.number(command.sources, where);
    return command.resumable() ? transfer::transfer_number(sources, where) : 0;
}

transfer::SendOptions send_options(const SendCommand& command, std::vector<std::string> sources,
                                   const std::string& where) {
    transfer::SendOptions options;
    options.transfer = number_of(command, sources, where);
    options.what = command.tree.selection(command.common);
    if (command.tree.shards.shard) options.what.shard = command.tree.shards.of_job(command.sources, where);
    options.what.sources = std::move(sources);
    options.destination = where;
    options.resume = command.resumable();
    return options;
}

}  // namespace udtx::apps
