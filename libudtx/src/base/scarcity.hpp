// What is said where something needed, such as memory, is not to be had.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace udtx {

[[nodiscard]] inline std::string describe_lack(const std::exception& thrown) {
    return dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ? "out of memory" : thrown.what();
}

[[nodiscard]] inline std::string refusal_for_lack(const std::exception& thrown) {
    return "no resources left for this connection (" + describe_lack(thrown) + "); try again later";
}

}  // namespace udtx
