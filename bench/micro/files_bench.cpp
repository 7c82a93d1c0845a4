// CPU seconds per GB of the kernel's copies and of the hash, by the buffer's offset in its page
// (docs/lab/file-cost.md). Files have 256 MiB and are in /dev/shm. Pieces of 1 MiB use eight buffers in turn.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <span>

#include "base/chunk.hpp"
#include "io/udp_socket.hpp"
#include "transfer/checksum.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::bench {
namespace {

constexpr std::size_t kPiece = 1U << 20U;
constexpr std::size_t kPieces = 256;
constexpr std::size_t kBuffers = 8;
constexpr std::size_t kMostOffset = 4096;
constexpr std::size_t kSegment = 1472;
constexpr std::size_t kBatch = 44 * kSegment;

struct Buffers {
    explicit Buffers(const benchmark::State& state) : offset(static_cast<std::size_t>(state.range(0))) {
        std::memset(memory.get(), 1, kBuffers * kPiece + kMostOffset);
    }
    [[nodiscard]] std::span<std::byte> piece(std::size_t i) const {
        return {memory.get() + offset + i % kBuffers * kPiece, kPiece};
    }

    PageBlock memory = make_page_block(kBuffers * kPiece + kMostOffset);
    std::size_t offset;
};

/// Opens an unnamed file in /dev/shm.
int open_file() { return ::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); }

bool write_pieces(int fd, const Buffers& buffers, transfer::Hasher* hasher) {
    for (std::size_t i = 0; i < kPieces; ++i) {
        const auto piece = buffers.piece(i);
        if (hasher != nullptr) {
            hasher->reset();
            hasher->update(piece);
            benchmark::DoNotOptimize(hasher->finish());
        }
        if (::pwrite(fd, piece.data(), kPiece, static_cast<off_t>(i * kPiece)) != static_cast<ssize_t>(kPiece)) {
            return false;
        }
    }
    return true;
}

void report(benchmark::State& state, double bytes) {
    state.counters["s/GB"] = benchmark::Counter(static_cast<double>(state.iterations()) * bytes / 1e9,
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void read_file(benchmark::State& state, bool hash) {
    const Buffers buffers(state);
    const UniqueFd fd(open_file());
    if (!fd || !write_pieces(fd.get(), buffers, nullptr)) return state.SkipWithError("no room in /dev/shm");
    transfer::Hasher hasher(transfer::HashAlgorithm::xxh3_128);
    for ([[maybe_unused]] auto _ : state) {
        for (std::size_t i = 0; i < kPieces; ++i) {
            const auto piece = buffers.piece(i);
            if (::pread(fd.get(), piece.data(), kPiece, static_cast<off_t>(i * kPiece)) < 0) std::abort();
            if (!hash) continue;
            hasher.reset();
            hasher.update(piece);
            benchmark::DoNotOptimize(hasher.finish());
        }
    }
    report(state, static_cast<double>(kPieces * kPiece));
}

/// Writes a new file in each iteration. Most of the cost is the allocation of its pages.
void write_file(benchmark::State& state, bool hash) {
    const Buffers buffers(state);
    transfer::Hasher hasher(transfer::HashAlgorithm::xxh3_128);
    for ([[maybe_unused]] auto _ : state) {
        UniqueFd fd(open_file());
        if (!fd || !write_pieces(fd.get(), buffers, hash ? &hasher : nullptr)) {
            return state.SkipWithError("no room in /dev/shm");
        }
        state.PauseTiming();
        fd.reset();
        state.ResumeTiming();
    }
    report(state, static_cast<double>(kPieces * kPiece));
}

/// Both ends run on one thread. Only receiving is timed.
void receive_datagrams(benchmark::State& state) {
    const Buffers buffers(state);
    const UniqueFd to(::socket(AF_INET, SOCK_DGRAM, 0));
    const UniqueFd from(::socket(AF_INET, SOCK_DGRAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    const int on = 1;
    const int segment = kSegment;
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    const bool ready = ::bind(to.get(), generic, length) == 0 && ::getsockname(to.get(), generic, &length) == 0 &&
                       ::connect(from.get(), generic, length) == 0 &&
                       ::setsockopt(to.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
                       ::setsockopt(to.get(), IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0 &&
                       ::setsockopt(from.get(), IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) == 0;
    if (!ready) return state.SkipWithError("no UDP with GSO and GRO");
    std::size_t i = 0;
    for ([[maybe_unused]] auto _ : state) {
        state.PauseTiming();
        if (::send(from.get(), buffers.piece(1).data(), kBatch, 0) != static_cast<ssize_t>(kBatch)) std::abort();
        state.ResumeTiming();
        for (std::size_t got = 0; got < kBatch;) {
            const ssize_t n = ::recv(to.get(), buffers.piece(2 + i++ % 2).data(), 65536, 0);
            if (n <= 0) return state.SkipWithError("a datagram was lost: the socket's buffer is too small");
            got += static_cast<std::size_t>(n);
        }
    }
    report(state, kBatch);
}

BENCHMARK_CAPTURE(read_file, plain, false)->Arg(0)->Arg(16)->Arg(32)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_file, hashed, true)->Arg(0)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_file, plain, false)->Arg(0)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_file, hashed, true)->Arg(0)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(receive_datagrams)->Arg(0)->Arg(16)->Arg(64);

}  // namespace
}  // namespace udtx::bench
