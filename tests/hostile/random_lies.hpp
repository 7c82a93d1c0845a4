// What a client sends at random: the messages of a good run, altered by a seed, or noise.
#pragma once

#include <cstdint>

#include "caller.hpp"

namespace udtx::hostile {

/// Depends only on the seed. One client in four fetches, the others push.
[[nodiscard]] Speech random_speech(std::uint64_t seed);

}  // namespace udtx::hostile
