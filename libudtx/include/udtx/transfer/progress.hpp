// How far a transfer is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

enum class Phase : std::uint8_t {
    connect,   ///< waiting for the peer
    transfer,  ///< bytes are moving (the tree may still be scanned: see totals_final)
    flush,     ///< every byte has come to the receiver, whose disk is at work
    verify,    ///< every file is in place; what is missing is the final confirmation
    done,
};
[[nodiscard]] UDTX_EXPORT std::string_view to_string(Phase phase) noexcept;

/// Parts of the time, 0 to 1.
struct ReceiverLoad {
    double disk = 0.0;  ///< its writer was at work
    double cpu = 0.0;   ///< its protocol thread was running or waiting for a processor
};

/// One consistent snapshot; cheap enough for ten a second.
struct Progress {
    Phase phase = Phase::connect;
    std::uint64_t files_done = 0;   ///< safe under their final name at the receiver
    std::uint64_t files_total = 0;  ///< known so far
    std::uint64_t bytes_done = 0;   ///< verified and written at the receiver (the sender learns it with a delay)
    std::uint64_t bytes_sent = 0;   ///< sender: handed to the transport
    std::uint64_t bytes_total = 0;  ///< known so far; holes of sparse files do not count
    std::uint64_t bytes_kept = 0;   ///< not sent since they are there, or read to see whether they are
    bool totals_final = false;
    std::optional<ReceiverLoad> receiver;  ///< sender: the latest that the receiver said of itself
    std::string current_name;              ///< as it is in the file system: escape it before it meets a terminal
};

using ProgressCallback = std::function<void(const Progress&)>;

}  // namespace udtx::transfer
