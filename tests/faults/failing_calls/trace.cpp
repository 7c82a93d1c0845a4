#include "trace.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

namespace udtx::faults {

namespace {

int g_file = -1;
std::atomic<bool> g_traced{false};

void write_calls(std::string_view title) {
    std::array<void*, 40> calls{};
    [[maybe_unused]] const ssize_t n = ::write(g_file, title.data(), title.size());
    ::backtrace_symbols_fd(calls.data(), ::backtrace(calls.data(), static_cast<int>(calls.size())), g_file);
}

void crashed(int number) {
    write_calls("crashed\n");
    ::signal(number, SIG_DFL);
    ::raise(number);
}

}  // namespace

void begin_trace(const char* path) noexcept {
    g_file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (g_file < 0) return;
    // The first call of backtrace() loads a library, which allocates. Do that now.
    std::array<void*, 1> call{};
    ::backtrace(call.data(), 1);
    for (const int number : {SIGSEGV, SIGABRT, SIGBUS}) ::signal(number, crashed);
}

void trace_failure() noexcept {
    if (g_file >= 0 && !g_traced.exchange(true)) write_calls("failed\n");
}

}  // namespace udtx::faults
