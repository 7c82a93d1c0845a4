// Compares a directory with a receipt.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "transfer/receipt/receipt.hpp"

namespace udtx::transfer {

struct CheckCounts {
    std::uint64_t entries = 0;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;      ///< of the files, holes included
    std::uint64_t different = 0;  ///< entries that are not as the receipt says
    std::uint64_t unreadable = 0;
};

struct CheckCallbacks {
    /// One line for each difference, names escaped.
    std::function<void(const std::string& line)> tell;
    /// The path of each entry that is not as the receipt says.
    std::function<void(const std::string& path)> differs = [](const std::string&) {};
};

/// Links on the way to a file are not followed.
[[nodiscard]] CheckCounts check_receipt(const Receipt& receipt, const ConfinedDir& base,
                                        const CheckCallbacks& callbacks);

}  // namespace udtx::transfer
