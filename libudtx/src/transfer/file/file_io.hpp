// System calls on files that survive EINTR and short counts.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/file_time.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// "<what> '<name>': <system's words>", name escaped; file_io, with the number.
[[nodiscard]] Error io_error(std::string_view what, std::string_view name, int error_number);

/// Of io_error(): this process, or the system, has no descriptors or no memory left.
[[nodiscard]] bool is_shortage(const Error& error);
/// What a client is told of it.
[[nodiscard]] std::string refusal_for(const Error& shortage);

/// 0 or an errno.
[[nodiscard]] int write_all_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset);
/// Reads until `out` is full or the file ends. `count` tells how many; 0 or an errno.
[[nodiscard]] int read_all_at(int fd, std::span<std::byte> out, std::uint64_t offset, std::size_t& count);
/// openat() and ftruncate(), again where a signal has interrupted them.
[[nodiscard]] int open_entry(int directory, const char* name, int flags, mode_t mode = 0) noexcept;
[[nodiscard]] int set_length(int fd, off_t length) noexcept;
/// Number of the mount that a file is on (Linux 5.8); none: unknown.
[[nodiscard]] std::optional<std::uint64_t> mount_of(int fd) noexcept;
/// The same where a sync of the file system makes all that is on it durable. Not so on FUSE: the kernel passes that on
/// to few servers, so each file and directory is to be synced by itself.
[[nodiscard]] std::optional<std::uint64_t> synced_mount_of(int fd) noexcept;
/// fdatasync or fsync; 0 or an errno.
[[nodiscard]] int sync_data(int fd);
[[nodiscard]] int sync_directory(int fd);
/// What a sync met says nothing of the data: there is no syncing here.
[[nodiscard]] bool knows_no_sync(int error_number) noexcept;

/// Descriptors that one part of one job may keep open at a time: a small share of what the process may have, and the
/// smaller the more jobs have a claim.
[[nodiscard]] std::size_t descriptor_share();

/// So many jobs have the descriptors that they need.
[[nodiscard]] std::size_t jobs_with_descriptors();
/// So many more, or fewer, are no job's.
void reserve_descriptors(std::ptrdiff_t more) noexcept;

/// Of a served job, to descriptors.
class DescriptorClaim {
  public:
    /// None: another job might leave others, which have begun, without a descriptor. The first gets one.
    [[nodiscard]] static std::unique_ptr<DescriptorClaim> take();
    ~DescriptorClaim();
    DescriptorClaim(const DescriptorClaim&) = delete;
    DescriptorClaim& operator=(const DescriptorClaim&) = delete;

  private:
    DescriptorClaim() = default;
};

/// What is in a directory, in order, without itself and its parent; `error` gets 0 or an errno.
[[nodiscard]] std::vector<std::string> names_in(int directory, int& error);

/// Modification time of a file by descriptor, or of a symbolic link by name; 0 or an errno.
[[nodiscard]] int set_file_time(int fd, const FileTime& mtime);
[[nodiscard]] int set_link_time(int directory, const std::string& name, const FileTime& mtime);
[[nodiscard]] FileTime mtime_of(const struct stat& st) noexcept;

}  // namespace udtx::transfer
