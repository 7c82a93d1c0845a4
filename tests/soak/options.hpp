// The command line of the soak.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace udtx::soak {

struct Options {
    std::optional<double> hours;  ///< of virtual time; empty: run the one episode of `seed`, step by step
    std::uint64_t seed = 1;       ///< the first seed
    unsigned jobs = 1;            ///< number of processes
};

/// Sets `error` if the command line is wrong.
[[nodiscard]] std::optional<Options> parse_options(int argc, const char* const* argv, std::string& error);

}  // namespace udtx::soak
