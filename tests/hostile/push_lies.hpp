// What a lying client with a valid key sends to a server: one lie per entry. Such a client pushes or fetches.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "caller.hpp"
#include "lies.hpp"

namespace udtx::hostile {

enum class Expect : std::uint8_t {
    delivered,  ///< the truth, or a harmless lie
    ends,       ///< the server ends the transfer with `code`
    fails,      ///< the rest is delivered, and this file is reported as failed
    waits,      ///< the server waits for more, which harms only the liar
    any,        ///< any end; the test checks only what is on the disk afterwards
};

struct PushLie {
    std::string_view name;
    Expect expect;
    std::uint64_t code;      ///< the code of the end
    std::string_view named;  ///< what the reason of the end or the failure has to contain
    std::function<void(Script&, Speech&)> tell;
};

/// Lies of clients that push. `target` has a file keep, and a link out to a directory beside it that has the file
/// canary.
[[nodiscard]] const std::vector<PushLie>& push_lies();
/// Lies of clients that fetch, with the same directories.
[[nodiscard]] const std::vector<PushLie>& fetch_lies();

/// The content of canary. No client may ever receive it.
inline constexpr std::string_view kCanary = "the canary is alive\n";

[[nodiscard]] inline transfer::Digest zeros(std::size_t bytes) {
    return transfer::Digest(std::vector<std::byte>(bytes));
}

/// One message of each type, as well formed as possible.
[[nodiscard]] std::vector<transfer::Message> senders_messages();
[[nodiscard]] std::vector<transfer::Message> receivers_messages();

}  // namespace udtx::hostile
