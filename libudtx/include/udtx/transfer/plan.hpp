// What would become of entries (a dry run), and what was deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace udtx::transfer {

enum class EntryType : std::uint8_t { directory = 0, file = 1, symlink = 2, hard_link = 3 };

/// In what an entry at the receiver is not as the sender's, and would be brought up to date. Bits; on the wire.
namespace change {
inline constexpr std::uint8_t kNew = 1;  ///< nothing of its kind stands there
inline constexpr std::uint8_t kContent = 2;
inline constexpr std::uint8_t kSize = 4;
inline constexpr std::uint8_t kTime = 8;
inline constexpr std::uint8_t kMode = 16;
inline constexpr std::uint8_t kOwner = 32;
inline constexpr std::uint8_t kGroup = 64;
inline constexpr std::uint8_t kAttributes = 128;
}  // namespace change

/// What a dry run found out about one entry, or what SendOptions::what.erase did.
struct PlannedEntry {
    /// unchanged: no data goes, and nothing is made; its attributes may be set, as `changes` says.
    enum class Kind : std::uint8_t { send, update, make, unchanged, skip, erase };
    Kind kind = Kind::send;
    EntryType type = EntryType::file;
    std::uint8_t changes = 0;  ///< bits of namespace change
    std::string path;          ///< unescaped
    std::uint64_t size = 0;    ///< bytes
    std::string target{};      ///< of a symlink; of a hard link the path of the other name
};
/// Called on the protocol thread or on a disk thread: it must be quick, and must not wait for the transfer.
using PlanCallback = std::function<void(const PlannedEntry&)>;

}  // namespace udtx::transfer
