#include "plan.hpp"

#include "trace.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace udtx::faults {

namespace {

struct Rule {
    Kind kind = Kind::count;
    int error = 0;
    std::uint64_t n = 0;
    bool from_there = false;
    bool every = false;

    [[nodiscard]] bool meets(std::uint64_t number) const noexcept {
        if (every) return number % n == 0;
        return from_there ? number >= n : number == n;
    }
};

constexpr std::array<const char*, kKinds> kNames = {
    "open",       "create", "openat2",  "opendir",  "readdir",    "read",  "write",   "pipe_read", "pipe_write",
    "event",      "copy",   "sync",     "syncfs",   "close_part", "close", "rename",  "renameat2", "link",
    "symlink",    "unlink", "mkdir",    "truncate", "allocate",   "seek",  "times",   "mode",      "owner",
    "attributes", "stat",   "readlink", "lock",     "duplicate",  "send",  "receive", "socket",    "bind",
    "option",     "poll",   "pipe",     "timer",    "memory",     "thread"};

struct ErrorName {
    std::string_view name;
    int error;
};
constexpr std::array kErrors = {ErrorName{"short", kShort},
                                ErrorName{"ENOSPC", ENOSPC},
                                ErrorName{"EIO", EIO},
                                ErrorName{"EINTR", EINTR},
                                ErrorName{"ENOSYS", ENOSYS},
                                ErrorName{"EMFILE", EMFILE},
                                ErrorName{"EDQUOT", EDQUOT},
                                ErrorName{"EROFS", EROFS},
                                ErrorName{"EACCES", EACCES},
                                ErrorName{"EPERM", EPERM},
                                ErrorName{"ENOBUFS", ENOBUFS},
                                ErrorName{"ENETDOWN", ENETDOWN},
                                ErrorName{"EAGAIN", EAGAIN},
                                ErrorName{"ENOMEM", ENOMEM},
                                ErrorName{"EOPNOTSUPP", EOPNOTSUPP},
                                ErrorName{"ENETUNREACH", ENETUNREACH},
                                ErrorName{"EINVAL", EINVAL},
                                ErrorName{"ENOLCK", ENOLCK},
                                ErrorName{"ENOPROTOOPT", ENOPROTOOPT},
                                ErrorName{"EADDRINUSE", EADDRINUSE},
                                ErrorName{"ENOENT", ENOENT},
                                ErrorName{"EXDEV", EXDEV},
                                ErrorName{"ENFILE", ENFILE}};

std::array<Record, kKinds> g_own{};
Record* g_records = g_own.data();
std::array<Rule, 64> g_rules{};
std::size_t g_rule_count = 0;
std::atomic<bool> g_armed{false};

[[noreturn]] void refuse(std::string_view text) {
    std::fprintf(stderr, "failing calls: what is '%.*s' in UDTX_FAULT?\n", static_cast<int>(text.size()), text.data());
    std::_Exit(99);
}

Rule parse(std::string_view text) {
    const auto first = text.find(':');
    const auto second = text.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) refuse(text);
    Rule rule;
    for (unsigned i = 0; i < kKinds; ++i) {
        if (text.substr(0, first) == kNames[i]) rule.kind = static_cast<Kind>(i);
    }
    for (const ErrorName& known : kErrors) {
        if (text.substr(first + 1, second - first - 1) == known.name) rule.error = known.error;
    }
    std::string_view when = text.substr(second + 1);
    rule.every = when.starts_with('%');
    if (rule.every) when.remove_prefix(1);
    rule.from_there = when.ends_with('+');
    for (const char digit : when) {
        if (digit >= '0' && digit <= '9') rule.n = rule.n * 10 + static_cast<unsigned>(digit - '0');
    }
    if (rule.kind == Kind::count || rule.error == 0 || rule.n == 0) refuse(text);
    return rule;
}

void share_counts(const char* path) {
    const int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ::ftruncate(fd, sizeof g_own) != 0) refuse(path);
    void* at = ::mmap(nullptr, sizeof g_own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) refuse(path);
    ::close(fd);
    g_records = static_cast<Record*>(at);
}

__attribute__((constructor)) void begin() {
    if (const char* path = std::getenv("UDTX_FAULT_COUNTS")) share_counts(path);
    for (unsigned i = 0; i < kKinds; ++i) std::strncpy(g_records[i].name, kNames[i], sizeof g_records[i].name - 1);
    if (const char* path = std::getenv("UDTX_FAULT_TRACE")) begin_trace(path);
    const char* rules = std::getenv("UDTX_FAULT");
    for (std::string_view rest = rules != nullptr ? rules : ""; !rest.empty();) {
        const auto end = rest.find(',');
        if (g_rule_count == g_rules.size()) refuse(rest);
        g_rules[g_rule_count++] = parse(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
}

}  // namespace

int next(Kind kind) noexcept {
    if (!g_armed.load(std::memory_order_relaxed)) return 0;
    Record& record = g_records[static_cast<unsigned>(kind)];
    const std::uint64_t number = record.made.fetch_add(1, std::memory_order_relaxed) + 1;
    for (std::size_t i = 0; i < g_rule_count; ++i) {
        if (g_rules[i].kind != kind || !g_rules[i].meets(number)) continue;
        record.failed.fetch_add(1, std::memory_order_relaxed);
        trace_failure();
        return g_rules[i].error;
    }
    return 0;
}

void choose(Kind kind, int error, std::uint64_t n, bool every) noexcept {
    for (unsigned i = 0; i < kKinds; ++i) g_records[i].made = g_records[i].failed = 0;
    g_rules[0] = {kind, error, n, false, every};
    g_rule_count = 1;
}

std::uint64_t failures() noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < kKinds; ++i) sum += g_records[i].failed;
    return sum;
}

void arm(bool on) noexcept { g_armed.store(on); }

}  // namespace udtx::faults
