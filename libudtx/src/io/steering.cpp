#include "io/steering.hpp"

#ifdef __linux__
#include <linux/filter.h>
#endif
#include <sys/socket.h>

#include <array>

#include "io/socket_setup.hpp"
#include "wire/header.hpp"

namespace udtx::io {
namespace {

// Offsets of the low 32 bits of the destination id (docs/inside/wire-format.md, 1.1 and 1.2).
constexpr std::uint32_t kLongIdAt = 9;
constexpr std::uint32_t kShortIdAt = 1;

}  // namespace

std::size_t thread_of(std::span<const std::byte> datagram, std::size_t threads) noexcept {
    const std::size_t at = wire::is_long_header(datagram) ? kLongIdAt : kShortIdAt;
    if (datagram.size() < at + 4) return 0;
    std::uint32_t id = 0;
    for (const std::byte byte : datagram.subspan(at, 4)) id = id << 8U | std::to_integer<std::uint32_t>(byte);
    return id % threads;
}

bool share_port([[maybe_unused]] int fd) noexcept {
#ifdef __linux__
    return set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
#else
    return false;
#endif
}

bool steer_datagrams([[maybe_unused]] int fd, [[maybe_unused]] std::size_t threads) noexcept {
#ifdef __linux__
    const auto count = static_cast<std::uint32_t>(threads);
    // The UDP payload starts at offset 0. A load beyond its end makes the result 0, as in thread_of().
    std::array<sock_filter, 7> program{{
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x80, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kLongIdAt),
        BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kShortIdAt),
        BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, count),
        BPF_STMT(BPF_RET | BPF_A, 0),
    }};
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter) == 0;
#else
    return false;
#endif
}

}  // namespace udtx::io
