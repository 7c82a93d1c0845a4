// What a dry run would do to each entry, and what was deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace udtx::transfer {

/// Kind of an entry. The values are those on the wire.
enum class EntryType : std::uint8_t { directory = 0, file = 1, symlink = 2, hard_link = 3 };

/// Bits that say in what the receiver's entry differs from the sender's. The values are those on the wire.
namespace change {
inline constexpr std::uint8_t kNew = 1;           ///< the receiver has none of its kind
inline constexpr std::uint8_t kContent = 2;       ///< bytes of a file; target of a link
inline constexpr std::uint8_t kSize = 4;          ///< size of a file
inline constexpr std::uint8_t kTime = 8;          ///< modification time
inline constexpr std::uint8_t kMode = 16;         ///< permissions
inline constexpr std::uint8_t kOwner = 32;        ///< user
inline constexpr std::uint8_t kGroup = 64;        ///< group
inline constexpr std::uint8_t kAttributes = 128;  ///< extended attributes
}  // namespace change

/// What a dry run would do to one entry, or one that was deleted (Selection::erase).
struct PlannedEntry {
    /// What would be done.
    enum class Kind : std::uint8_t {
        send,       ///< all of a file is sent
        update,     ///< what differs of a file is sent
        make,       ///< a directory or link is made
        unchanged,  ///< no data is sent; `changes` says what is set
        skip,       ///< it is not to be overwritten
        erase,      ///< it is deleted
    };
    Kind kind = Kind::send;            ///< what would be done
    EntryType type = EntryType::file;  ///< to what
    std::uint8_t changes = 0;          ///< bits of namespace change
    std::string path;                  ///< unescaped
    std::uint64_t size = 0;            ///< bytes
    std::string target{};              ///< of a symbolic link; of a hard link the path of the other name
};
/// Called on the protocol thread or on a disk thread. It returns soon, and does not wait for the transfer.
using PlanCallback = std::function<void(const PlannedEntry&)>;

}  // namespace udtx::transfer
