// A client that follows the protocol, to run among those that do not.
#pragma once

#include <chrono>
#include <optional>

#include "caller.hpp"
#include "ground.hpp"
#include "lies.hpp"

namespace udtx::hostile {

/// Pushes a file. Returns the seconds until the server had confirmed it and the file existed, or none if that failed.
[[nodiscard]] inline std::optional<double> push_honestly(io::Driver& driver, const Address& server,
                                                         const Ground& ground) {
    Script script({});
    script.offer([](transfer::message::Offer& m) { m.destination = {"honest"}; });
    script.file("file", "honest\n");
    script.finish();
    Speech speech{{script.control().begin(), script.control().end()}, script.data()};
    const auto start = std::chrono::steady_clock::now();
    const Ending ending = Caller::call(driver, server, std::move(speech), std::chrono::seconds(20));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (!ending.confirmed || !ground.has_honest_file()) return std::nullopt;
    return took.count();
}

}  // namespace udtx::hostile
