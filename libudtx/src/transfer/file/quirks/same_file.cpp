#include "transfer/file/quirks/same_file.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "transfer/file/file_io.hpp"

#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

namespace udtx::transfer {

namespace {

constexpr std::size_t kComparedBytes = 256U << 10U;

}  // namespace

bool same_times(const struct stat& a, const struct stat& b) {
    return mtime_of(a) == mtime_of(b) && a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

bool same_state(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size && same_times(a, b);
}

std::string handle_of(int directory, const std::string& name) {
    std::string out;
#ifdef __linux__
    struct statfs system = {};
    if (::fstatfs(directory, &system) != 0 || system.f_type == FUSE_SUPER_MAGIC) return out;
    alignas(struct file_handle) std::array<char, sizeof(struct file_handle) + MAX_HANDLE_SZ> room{};
    auto* handle = reinterpret_cast<struct file_handle*>(room.data());
    handle->handle_bytes = MAX_HANDLE_SZ;
    int mount = 0;
    if (::name_to_handle_at(directory, name.c_str(), handle, &mount, 0) != 0) return out;
    out = std::to_string(handle->handle_type) + ' ';
    out.append(room.data() + sizeof(struct file_handle), handle->handle_bytes);
#else
    static_cast<void>(directory);
    static_cast<void>(name);
#endif
    return out;
}

bool same_bytes(int one, int other, std::uint64_t size) {
    std::vector<std::byte> blocks(2 * kComparedBytes);
    for (std::uint64_t at = 0; at < size;) {
        const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(kComparedBytes, size - at));
        const auto a = std::span(blocks).first(length);
        const auto b = std::span(blocks).subspan(kComparedBytes, length);
        std::size_t read_of_a = 0;
        std::size_t read_of_b = 0;
        if (read_all_at(one, a, at, read_of_a) != 0 || read_all_at(other, b, at, read_of_b) != 0) return false;
        if (read_of_a != length || read_of_b != length || !std::ranges::equal(a, b)) return false;
        at += length;
    }
    return true;
}

bool same_content(const struct stat& then, const struct stat& now) {
    struct stat expected = then;
    // A change of the number of names changes this time too. A change of the content also changes the other time.
    if (then.st_nlink != now.st_nlink) expected.st_ctim = now.st_ctim;
    return same_state(expected, now);
}

}  // namespace udtx::transfer
