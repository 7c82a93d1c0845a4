// What a client with a valid key tells a server, one lie a line: it pushes, or asks for what is there.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "caller.hpp"
#include "lies.hpp"

namespace udtx::hostile {

enum class Expect : std::uint8_t {
    delivered,  ///< the truth, or what is no harm
    ends,       ///< the server ends the transfer, with `code`
    fails,      ///< the rest is delivered, and this failed by name
    waits,      ///< the server waits for more: nobody is harmed but the liar
    any,        ///< whichever: what counts is what is on the disk afterwards
};

struct PushLie {
    std::string_view name;
    Expect expect;
    std::uint64_t code;      ///< of the end
    std::string_view named;  ///< what its reason, or the failure, has to have
    std::function<void(Script&, Speech&)> tell;
};

/// Where `target` has keep, a file, and out, a link that leads to a directory beside it with the file canary.
[[nodiscard]] const std::vector<PushLie>& push_lies();
/// Likewise, of clients that fetch.
[[nodiscard]] const std::vector<PushLie>& fetch_lies();

/// What is in canary: it never comes to anybody.
inline constexpr std::string_view kCanary = "the canary is alive\n";

[[nodiscard]] inline transfer::Digest zeros(std::size_t bytes) {
    return transfer::Digest(std::vector<std::byte>(bytes));
}

/// One of each, as well formed as can be.
[[nodiscard]] std::vector<transfer::Message> senders_messages();
[[nodiscard]] std::vector<transfer::Message> receivers_messages();

}  // namespace udtx::hostile
