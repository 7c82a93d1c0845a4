// System calls on files, and the modes and descriptors that they need.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer::mode_bits {

// Parts of a file mode.

inline constexpr std::uint32_t kPermissions = 0777;
inline constexpr std::uint32_t kSpecial = 07000;
inline constexpr std::uint32_t kSetId = 06000;
inline constexpr std::uint32_t kSetUser = 04000;
inline constexpr std::uint32_t kSetGroup = 02000;
inline constexpr std::uint32_t kAll = 07777;
inline constexpr std::uint32_t kOwner = 0700;
inline constexpr std::uint32_t kOwnerReadWrite = 0600;
inline constexpr std::uint32_t kOthersWrite = 0002;
/// The set-group-ID bit of a directory passes its group on, and the sticky bit protects its entries. Neither gives
/// rights away.
inline constexpr std::uint32_t kOfDirectory = 03777;

/// The mode that a directory of a peer gets. `owners`: the peer may also set owners and groups.
[[nodiscard]] constexpr std::uint32_t of_directory(std::uint32_t mode, bool set_id, bool owners) {
    if (set_id) return mode & kAll;
    // Where everybody may create files, everybody would get its group for them.
    const bool gives_group_away = (mode & kOthersWrite) != 0 && !owners;
    return mode & kOfDirectory & ~(gives_group_away ? kSetGroup : 0U);
}

}  // namespace udtx::transfer::mode_bits

// System calls on files that handle EINTR and short counts.

namespace udtx::transfer {

/// "<what> '<name>': <system's words>" with the name escaped; the code is file_io, with the errno.
[[nodiscard]] Error io_error(std::string_view what, std::string_view name, int error_number);

/// True for an io_error() that says that the process or the system has no descriptors or no memory left.
[[nodiscard]] bool is_shortage(const Error& error);
/// The text that a client gets about it.
[[nodiscard]] std::string refusal_for(const Error& shortage);

/// 0 or an errno.
[[nodiscard]] int write_all_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset);
/// Reads until `out` is full or the file ends, and sets `count` to the bytes read; 0 or an errno.
[[nodiscard]] int read_all_at(int fd, std::span<std::byte> out, std::uint64_t offset, std::size_t& count);
/// openat() and ftruncate(), repeated if a signal interrupts them.
[[nodiscard]] int open_entry(int directory, const char* name, int flags, mode_t mode = 0) noexcept;
[[nodiscard]] int set_length(int fd, off_t length) noexcept;
/// Number of the mount that a file is on (Linux 5.8); nullopt: unknown.
[[nodiscard]] std::optional<std::uint64_t> mount_of(int fd) noexcept;
/// As mount_of(), but only if one sync of the file system makes all of its files durable. For FUSE it returns nullopt.
/// The kernel passes such a sync on to few servers, so each file and directory must be synced by itself.
[[nodiscard]] std::optional<std::uint64_t> synced_mount_of(int fd) noexcept;
/// fdatasync or fsync; 0 or an errno.
[[nodiscard]] int sync_data(int fd);
[[nodiscard]] int sync_directory(int fd);
/// True if the errno of a sync means that the file system cannot sync. It then says nothing about the data.
[[nodiscard]] bool knows_no_sync(int error_number) noexcept;

/// Descriptors that one part of one job may keep open at a time. It is a small share of the process's limit, and it
/// shrinks as more jobs hold a claim.
[[nodiscard]] std::size_t descriptor_share();

/// Number of jobs for which the descriptors suffice.
[[nodiscard]] std::size_t jobs_with_descriptors();
/// Reserves `more` further descriptors for uses other than jobs; a negative number releases them.
void reserve_descriptors(std::ptrdiff_t more) noexcept;

/// Lets threads of a disk pool wait for descriptors that other jobs use for a moment, instead of failing. Waits for a
/// descriptor between two tries of a call that makes one.
class DescriptorWait {
  public:
    /// The call failed with this errno. True: it lacked a descriptor, and the next try may find one. errno stays.
    [[nodiscard]] bool again(int error_number) noexcept;

  private:
    std::chrono::milliseconds waited_{};
};

/// The claim of a served job to descriptors.
class DescriptorClaim {
  public:
    /// Null: another job might leave the running jobs without a descriptor. The first job always gets a claim.
    [[nodiscard]] static std::unique_ptr<DescriptorClaim> take();
    ~DescriptorClaim();
    DescriptorClaim(const DescriptorClaim&) = delete;
    DescriptorClaim& operator=(const DescriptorClaim&) = delete;

  private:
    DescriptorClaim() = default;
};

/// The names in a directory, sorted, without `.` and `..`; `error` gets 0 or an errno.
[[nodiscard]] std::vector<std::string> names_in(int directory, int& error);

/// Sets the modification time of a file by descriptor, or of a symbolic link by name; 0 or an errno.
[[nodiscard]] int set_file_time(int fd, const FileTime& mtime);
[[nodiscard]] int set_link_time(int directory, const std::string& name, const FileTime& mtime);
[[nodiscard]] FileTime mtime_of(const struct stat& st) noexcept;
[[nodiscard]] FileTimes times_of(const struct stat& st) noexcept;

// Pipes that other programs gave us.

/// Enlarges a pipe's buffer to 1 MiB if the system permits, so that writer and reader take fewer turns. It has no
/// effect on other descriptors.
void widen_pipe(int fd) noexcept;
/// Opens another, non-blocking descriptor of a pipe for writing. The flag of `fd` itself is shared with other programs.
/// None: the system refuses it.
[[nodiscard]] UniqueFd writer_without_blocking(int pipe);

}  // namespace udtx::transfer
