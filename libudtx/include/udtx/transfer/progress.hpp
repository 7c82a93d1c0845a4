// How far a transfer is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

/// Phases in their order.
enum class Phase : std::uint8_t {
    connect,   ///< there is no connection yet
    transfer,  ///< bytes move; the tree may still be scanned, see Progress::totals_final
    flush,     ///< the receiver has every byte, and writes
    verify,    ///< every file has its name; the last confirmation is missing
    done,      ///< the outcome is final
};
/// "connect", "transfer" and so on.
[[nodiscard]] UDTX_EXPORT std::string_view to_string(Phase phase) noexcept;

/// Parts of the time, 0 to 1, in which the receiver was busy.
struct ReceiverLoad {
    double disk = 0.0;  ///< its writer was at work
    double cpu = 0.0;   ///< its protocol thread was running or waiting for a processor
};

/// One consistent snapshot; cheap enough for ten a second.
struct Progress {
    Phase phase = Phase::connect;          ///< what happens now
    std::uint64_t files_done = 0;          ///< delivered, see Outcome
    std::uint64_t files_total = 0;         ///< known so far
    std::uint64_t bytes_done = 0;          ///< verified and written at the receiver, as far as this end knows
    std::uint64_t bytes_sent = 0;          ///< sender: handed to the transport
    std::uint64_t bytes_total = 0;         ///< known so far, holes not included
    std::uint64_t bytes_kept = 0;          ///< that the receiver has, or that are read to see whether it has them
    bool totals_final = false;             ///< all sources have been scanned
    std::optional<ReceiverLoad> receiver;  ///< sender: as the receiver told last
    std::string current_name;              ///< unescaped, see escape_name()
};

/// Told the progress, see Events.
using ProgressCallback = std::function<void(const Progress&)>;

}  // namespace udtx::transfer
