#include "sandbox/call_filter.hpp"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define UDTX_HAVE_CALL_FILTER
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

namespace udtx::apps {

#ifdef UDTX_HAVE_CALL_FILTER
namespace {

#ifdef __x86_64__
constexpr std::uint32_t kProcessor = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kProcessor = AUDIT_ARCH_AARCH64;
#endif
/// The other numbering of x86-64's calls ("x32") begins here.
constexpr std::uint32_t kOtherNumbering = 0x40000000;
/// SECCOMP_FILTER_FLAG_SPEC_ALLOW: the filter shall not slow the processor down.
constexpr unsigned kNoMitigation = 1U << 2U;

/// Newer ones by number, which is the same on all processors: headers may be older than the system.
constexpr auto kRefused = std::to_array<long>({
    // Other programs, and the memory of other processes. Landlock lets programs in memory start.
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    438L /* pidfd_getfd */,
    // What is mounted where, and files by number instead of by name.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_open_by_handle_at,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_truncate,
    428L /* open_tree */,
    429L /* move_mount */,
    430L /* fsopen */,
    431L /* fsconfig */,
    432L /* fsmount */,
    433L /* fspick */,
    442L /* mount_setattr */,
    // The kernel: its code, its clocks, and what of it was broken most.
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_acct,
    SYS_reboot,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    425L /* io_uring_setup */,
#ifdef SYS_userfaultfd
    SYS_userfaultfd,
#endif
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
});

std::vector<sock_filter> program() {
    const auto load = [](std::size_t offset) {
        return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
    };
    constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
    const auto end = [](std::uint32_t verdict) { return sock_filter BPF_STMT(BPF_RET | BPF_K, verdict); };
    std::vector<sock_filter> lines{
        load(offsetof(seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kProcessor, 1, 0),      end(kRefuse),
        load(offsetof(seccomp_data, nr)),   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbering, 0, 1), end(kRefuse)};
    for (const long number : kRefused) {
        lines.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
        lines.push_back(end(kRefuse));
    }
    lines.push_back(end(SECCOMP_RET_ALLOW));
    return lines;
}

}  // namespace

Result<void> enter_call_filter() {
    std::vector<sock_filter> lines = program();
    const sock_fprog text{static_cast<unsigned short>(lines.size()), lines.data()};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kNoMitigation, &text) == 0) return {};
    // Linux before 4.17 knows no such flag.
    if (errno == EINVAL && ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &text) == 0) return {};
    const int error = errno;
    return Error{ErrorCode::file_io, "seccomp: " + std::generic_category().message(error), error};
}
#else
Result<void> enter_call_filter() { return Error{ErrorCode::file_io, "seccomp: of Linux, on x86-64 and 64-bit ARM"}; }
#endif

}  // namespace udtx::apps
