#include "sandbox/call_filter.hpp"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define UDTX_HAVE_CALL_FILTER
#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
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
/// First number of the other numbering of x86-64's calls ("x32").
constexpr std::uint32_t kOtherNumbering = 0x40000000;
/// SECCOMP_FILTER_FLAG_SPEC_ALLOW: keeps speculative execution enabled, so that the filter does not slow the processor.
constexpr unsigned kNoMitigation = 1U << 2U;

/// Newer calls are listed by number, because headers may be older than the kernel. These numbers are the same on all
/// processors.
constexpr auto kRefused = std::to_array<long>({
    // Starting programs, and access to the memory of other processes. Landlock does not stop the start of programs from
    // memory.
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    438L /* pidfd_getfd */,
    // Mounts, and access to files by number instead of by name.
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
    443L /* quotactl_fd */,
    467L /* open_tree_attr */,
    SYS_fanotify_init,
    // Attributes by name, because a name may lead anywhere. Calls on open files stay permitted.
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    463L /* setxattrat */,
    466L /* removexattrat */,
    469L /* file_setattr */,
    // The kernel's code and clocks, and its parts with the most vulnerabilities.
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

/// ioctls that a receiver uses. Others type into a terminal, change the flags of files, or create and delete objects of
/// a file system. They need no write permission.
constexpr auto kControls = std::to_array<std::uint32_t>(
    {FIONBIO, FIOCLEX, FIONREAD, TCGETS, TIOCGWINSZ, FICLONE, FS_IOC_FIEMAP, FS_IOC_GETFLAGS, SIOCGIFINDEX,
     0x802C542A /* TCGETS2 */, 0x80705864 /* XFS_IOC_FSGEOMETRY_V1 */});
// CLONE_NEW*: new mount, user, network and other namespaces of a child.
constexpr std::uint32_t kNamespaces = 0x7E020080;
constexpr long kClone3 = 435;

constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

sock_filter load(std::size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
sock_filter end(std::uint32_t verdict) { return BPF_STMT(BPF_RET | BPF_K, verdict); }
sock_filter skip_unless(std::uint32_t value, std::size_t lines) {
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<std::uint8_t>(lines));
}
void add(std::vector<sock_filter>& lines, std::initializer_list<sock_filter> more) { lines.insert(lines.end(), more); }

/// Decides a call by an argument, of which only the low 32 bits are compared. `listed` is the verdict if the argument
/// is in `values`, else `other`. The call's number must be loaded.
void decide_by(std::vector<sock_filter>& lines, long call, std::size_t argument, std::span<const std::uint32_t> values,
               std::uint32_t listed, std::uint32_t other) {
    static_assert(std::endian::native == std::endian::little);
    add(lines, {skip_unless(static_cast<std::uint32_t>(call), 2 * values.size() + 2),
                load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t))});
    for (const std::uint32_t value : values) add(lines, {skip_unless(value, 1), end(listed)});
    lines.push_back(end(other));
}

/// Refuses the call if its first argument has any of these bits. The call's number must be loaded.
void refuse_bits(std::vector<sock_filter>& lines, long call, std::uint32_t bits) {
    add(lines, {skip_unless(static_cast<std::uint32_t>(call), 4), load(offsetof(seccomp_data, args)),
                BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), end(kRefuse), end(SECCOMP_RET_ALLOW)});
}

std::vector<sock_filter> program() {
    std::vector<sock_filter> lines{
        load(offsetof(seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kProcessor, 1, 0),      end(kRefuse),
        load(offsetof(seccomp_data, nr)),   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbering, 0, 1), end(kRefuse)};
    for (const long number : kRefused) add(lines, {skip_unless(static_cast<std::uint32_t>(number), 1), end(kRefuse)});
    // The flags of clone3 are in memory, which a filter cannot read. After ENOSYS the C library uses clone() for a
    // thread.
    add(lines, {skip_unless(kClone3, 1), end(SECCOMP_RET_ERRNO | ENOSYS)});
    refuse_bits(lines, SYS_clone, kNamespaces);
    constexpr std::array<std::uint32_t, 1> kItself{0};
    decide_by(lines, SYS_prlimit64, 0, kItself, SECCOMP_RET_ALLOW, kRefuse);
    decide_by(lines, SYS_ioctl, 1, kControls, SECCOMP_RET_ALLOW, kRefuse);
    lines.push_back(end(SECCOMP_RET_ALLOW));
    return lines;
}

/// The filter above has already checked the processor. It refuses pairs too, because one half could be connected to
/// another process.
std::vector<sock_filter> program_of_sockets() {
    constexpr std::array<std::uint32_t, 1> kLocal{AF_UNIX};
    std::vector<sock_filter> lines{load(offsetof(seccomp_data, nr))};
    for (const long call : {SYS_socket, SYS_socketpair}) {
        decide_by(lines, call, 0, kLocal, kRefuse, SECCOMP_RET_ALLOW);
    }
    lines.push_back(end(SECCOMP_RET_ALLOW));
    return lines;
}

Result<void> take(std::vector<sock_filter> lines, unsigned flags) {
    const sock_fprog text{static_cast<unsigned short>(lines.size()), lines.data()};
    long done = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | kNoMitigation, &text);
    // Linux before 4.17 does not know this flag.
    if (done < 0 && errno == EINVAL) done = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &text);
    if (done == 0) return {};
    // A positive result is the number of a thread that cannot take the filter.
    const int error = done > 0 ? EBUSY : errno;
    return Error{ErrorCode::file_io, "seccomp: " + std::generic_category().message(error), error};
}

}  // namespace

Result<void> enter_call_filter() { return take(program(), 0); }
Result<void> refuse_local_sockets() { return take(program_of_sockets(), SECCOMP_FILTER_FLAG_TSYNC); }
#else
Result<void> enter_call_filter() { return Error{ErrorCode::file_io, "seccomp needs Linux on x86-64 or 64-bit ARM"}; }
Result<void> refuse_local_sockets() { return enter_call_filter(); }
#endif

}  // namespace udtx::apps
