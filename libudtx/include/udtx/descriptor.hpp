// File descriptors with an owner: plain ones, bound UDP sockets, and files that get their name at the end.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

// An owner of a file descriptor, and wrappers for system calls that signals may interrupt.

/// Repeats a system call while a signal interrupts it (EINTR).
template <typename Call>
auto again(const Call& call) noexcept {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

/// open(2), repeated while a signal interrupts it.
[[nodiscard]] UDTX_EXPORT int open_file(const char* path, int flags, unsigned mode = 0) noexcept;

/// Owns at most one file descriptor, and closes it.
class UDTX_EXPORT UniqueFd {
  public:
    /// Owns no descriptor.
    UniqueFd() = default;
    /// Owns `fd`. A negative `fd`, as from a failed open(), means no descriptor.
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    /// Takes the descriptor. `other` then owns none.
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    /// Closes the current descriptor and takes the other one. `other` then owns none.
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~UniqueFd() { reset(); }

    /// Returns the descriptor; -1: none.
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// True if it owns a descriptor.
    explicit operator bool() const noexcept { return fd_ >= 0; }
    /// Gives up ownership: the caller must close the returned descriptor; -1: none.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// Closes the descriptor. Returns 0 or an errno: some file systems report failed writes only at this point.
    [[nodiscard]] int close() noexcept;
    /// Closes the descriptor, and owns `fd` instead.
    void reset(int fd = -1) noexcept;

  private:
    int fd_ = -1;
};

// A UDP socket that is bound before anything uses it.

/// A bound socket. Datagrams wait in it until a listener, a server or a transfer takes it (`socket` in their options).
struct BoundSocket {
    UniqueFd fd;                  ///< the socket
    Address local{};              ///< bound address, with the port that the system chose
    std::string buffer_advice{};  ///< the setting to raise for larger buffers, see Transfer::buffer_advice()
};
/// Binds a UDP socket. Port 0 chooses a free one. A socket on [::] also accepts IPv4. network: this host does not have
/// the address, or the port is in use.
[[nodiscard]] UDTX_EXPORT Result<BoundSocket> bind_udp(const Address& address);

// Files that a program writes where its user said. A privileged user may name a file in a directory of another user,
// who may have put a link there.

/// The place of an output file. Links of this user, of root, and of the user who became root by sudo are followed;
/// links of others are not.
struct UDTX_EXPORT OutputPlace {
    UniqueFd directory;          ///< opened with O_PATH
    std::string name;            ///< the name in it; no link, unless `is_descriptor`
    std::string path;            ///< directory and name as one path without links
    bool exists = false;         ///< the directory has the name
    bool is_descriptor = false;  ///< the name leads to an open descriptor of this process, as /dev/stdout does

    /// Finds the place. file_io: the message is only the reason, as strerror() gives it.
    [[nodiscard]] static Result<OutputPlace> find(const std::string& path);
    /// Opens the file as openat() does. O_CLOEXEC and O_NOFOLLOW are added. A file that another user may have linked to
    /// this name is refused. Errors as in find().
    [[nodiscard]] Result<UniqueFd> open(int flags, unsigned mode = 0666) const;
};

/// New content of an output file. It has no name, or one that nobody can foresee, until it gets the file's name.
/// Nothing that exists is opened or removed.
class UDTX_EXPORT NewVersion {
  public:
    /// Whether the file may do without a name until commit(). Some file systems allow only `early`.
    enum class Name { early, late };
    /// file_io: the place has something that is not a regular file, or its directory takes no file. The message is only
    /// the reason.
    [[nodiscard]] static Result<NewVersion> create(OutputPlace place, Name named = Name::late);
    /// Takes the file. `other` then has none.
    NewVersion(NewVersion&& other) = default;
    NewVersion& operator=(NewVersion&&) = delete;
    ~NewVersion();

    /// Returns the open file.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// Returns where the file will be.
    [[nodiscard]] const OutputPlace& place() const noexcept { return place_; }
    /// Closes the file, which must have `size` bytes and be synced, and gives it its name in place of the older
    /// version. Returns 0 or an errno; ESTALE: another program has put something else in its place.
    [[nodiscard]] int commit(std::uint64_t size);
    /// Removes it unless it has its name; for processes that end without destructors.
    void discard() noexcept;

  private:
    explicit NewVersion(OutputPlace place) : place_(std::move(place)) {}
    [[nodiscard]] bool is_at(const std::string& name) const;

    OutputPlace place_;
    UniqueFd fd_;
    std::string temporary_;  // empty: it has no name
};

/// Finds the place and opens it.
[[nodiscard]] UDTX_EXPORT Result<UniqueFd> open_output(const std::string& path, int flags, unsigned mode = 0666);

}  // namespace udtx
