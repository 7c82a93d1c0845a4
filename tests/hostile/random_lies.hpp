// What a client tells a server that has gone mad: a good run's messages, altered by a seed, or noise.
#pragma once

#include <cstdint>

#include "caller.hpp"

namespace udtx::hostile {

/// The same for the same seed. One in four fetches, the others push.
[[nodiscard]] Speech random_speech(std::uint64_t seed);

}  // namespace udtx::hostile
