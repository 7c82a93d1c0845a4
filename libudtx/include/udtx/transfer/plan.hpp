// Reports what a dry run would do to each entry, and what was deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace udtx::transfer {

/// Type of an entry. The values are those on the wire.
enum class EntryType : std::uint8_t { directory = 0, file = 1, symlink = 2, hard_link = 3 };

/// Bits for the differences between the receiver's and the sender's entry. The values are those on the wire.
namespace change {
inline constexpr std::uint8_t kNew = 1;           ///< the receiver has no entry of this type
inline constexpr std::uint8_t kContent = 2;       ///< content of a file, or target of a link
inline constexpr std::uint8_t kSize = 4;          ///< size of a file
inline constexpr std::uint8_t kTime = 8;          ///< modification time
inline constexpr std::uint8_t kMode = 16;         ///< permissions
inline constexpr std::uint8_t kOwner = 32;        ///< user
inline constexpr std::uint8_t kGroup = 64;        ///< group
inline constexpr std::uint8_t kAttributes = 128;  ///< extended attributes
}  // namespace change

/// What a dry run would do to one entry, or an entry that was deleted (Selection::erase).
struct PlannedEntry {
    /// The planned action.
    enum class Kind : std::uint8_t {
        send,       ///< send a whole file
        update,     ///< send the parts of a file that differ
        make,       ///< create a directory or link
        unchanged,  ///< send no data; `changes` lists the properties to set
        skip,       ///< leave it, since it may not be overwritten
        erase,      ///< delete it
    };
    Kind kind = Kind::send;            ///< planned action
    EntryType type = EntryType::file;  ///< type of the entry
    std::uint8_t changes = 0;          ///< bits from namespace change
    std::string path;                  ///< path, unescaped
    std::uint64_t size = 0;            ///< size in bytes
    std::string target{};              ///< target of a symbolic link; for a hard link the path of the file's first name
};
/// Called on the protocol thread or on a disk thread. It must return soon and must not wait for the transfer.
using PlanCallback = std::function<void(const PlannedEntry&)>;

}  // namespace udtx::transfer
