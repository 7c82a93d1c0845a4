#include "sandbox/sandbox.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <system_error>
#include <utility>

#include "udtx/descriptor.hpp"

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
#ifdef __linux__
#include <fcntl.h>
#include <sys/prctl.h>
#endif

namespace udtx::apps {

namespace {

#ifdef UDTX_HAVE_CALL_FILTER

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

/// Needs PR_SET_NO_NEW_PRIVS.
Result<void> enter_call_filter() { return take(program(), 0); }
/// From now on, refuses new local (AF_UNIX) sockets in all threads, because other programs take commands over them.
/// Call it after enter_call_filter(), in the thread that started the others.
Result<void> refuse_local_sockets() { return take(program_of_sockets(), SECCOMP_FILTER_FLAG_TSYNC); }
#else
Result<void> enter_call_filter() { return Error{ErrorCode::file_io, "seccomp needs Linux on x86-64 or 64-bit ARM"}; }
Result<void> refuse_local_sockets() { return enter_call_filter(); }
#endif

// Linux's Landlock: the process, even as root, gives up the right to write outside given places. Uses the system calls
// directly, without a library.

/// The least version in which files can move between directories, which hard links need: Linux 5.19.
constexpr int kLeastLandlock = 2;
/// From this version on, Landlock also stops truncation of files elsewhere: Linux 6.2.
constexpr int kLandlockTruncates = 3;

#ifdef __linux__

// Copied from linux/landlock.h, which may be old on the machine that builds. The numbers of the calls are the same on
// all processors.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr std::uint32_t kAskVersion = 1;
constexpr int kPathBeneath = 1;
constexpr std::uint64_t kScopes = 0b11;  // abstract sockets and signals reach only processes in the same sandbox

namespace access {
constexpr std::uint64_t kExecute = 1U << 0U;
constexpr std::uint64_t kWriteFile = 1U << 1U;
constexpr std::uint64_t kRemoveDirectory = 1U << 4U;
constexpr std::uint64_t kRemoveFile = 1U << 5U;
constexpr std::uint64_t kMakeDirectory = 1U << 7U;
constexpr std::uint64_t kMakeFile = 1U << 8U;
constexpr std::uint64_t kMakeSocket = 1U << 9U;
constexpr std::uint64_t kMakeLink = 1U << 12U;
constexpr std::uint64_t kMakeAny = 0x7FU << 6U;  // includes devices and pipes, which no rule permits
constexpr std::uint64_t kRefer = 1U << 13U;
constexpr std::uint64_t kTruncate = 1U << 14U;
constexpr std::uint64_t kDeviceControl = 1U << 15U;
}  // namespace access

struct Ruleset {
    std::uint64_t handled_fs;
    std::uint64_t handled_net;
    std::uint64_t scoped;
};
struct [[gnu::packed]] BeneathRule {
    std::uint64_t allowed;
    std::int32_t parent_fd;
};

Error failed(const std::string& what) {
    const int error = errno;
    return {ErrorCode::file_io, "Landlock: " + what + ": " + std::generic_category().message(error), error};
}

/// All rights that change something. Reading stays free, because names, time zones and libraries are read on demand.
std::uint64_t handled_by(int version) {
    std::uint64_t all = access::kExecute | access::kWriteFile | access::kRemoveDirectory | access::kRemoveFile |
                        access::kMakeAny | access::kRefer;
    if (version >= kLandlockTruncates) all |= access::kTruncate;
    if (version >= 5) all |= access::kDeviceControl;
    return all;
}

class Rules {
  public:
    Rules(int ruleset, std::uint64_t handled) : ruleset_(ruleset), handled_(handled) {}

    /// Leaves out a path that cannot be opened. The process then has fewer rights.
    void allow(const std::vector<std::string>& paths, std::uint64_t rights, bool make = false, int flags = 0) {
        for (const std::string& path : paths) {
            UniqueFd at(open_file(path.c_str(), O_PATH | O_CLOEXEC | flags));
            if (!at && errno == ENOENT && make) {
                if (auto made = open_output(path, O_WRONLY | O_CREAT)) at = std::move(*made);
            }
            const BeneathRule rule{rights & handled_, at.get()};
            if (at && ::syscall(kAddRule, ruleset_, kPathBeneath, &rule, 0) == 0) continue;
            // An inherited pipe belongs to no directory, and no rule restricts it.
            if (!at || errno != EBADFD) left_out_.push_back({path, std::generic_category().message(errno)});
        }
    }
    [[nodiscard]] std::vector<PlaceLeftOut> left_out() && { return std::move(left_out_); }

  private:
    int ruleset_;
    std::uint64_t handled_;
    std::vector<PlaceLeftOut> left_out_;
};

/// Version of this system; 0: none.
int landlock_version() noexcept {
    const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
    return version < 0 ? 0 : static_cast<int>(version);
}

/// Needs PR_SET_NO_NEW_PRIVS. Returns the places that could not be opened, which become read-only.
Result<std::vector<PlaceLeftOut>> enter_landlock(int version, const SandboxPlaces& places) {
    const Ruleset attributes{handled_by(version), 0, version >= 6 ? kScopes : 0};
    // An older kernel rejects fields that it does not know.
    const std::size_t size = version >= 6 ? sizeof attributes : sizeof attributes.handled_fs;
    const UniqueFd ruleset(static_cast<int>(::syscall(kCreateRuleset, &attributes, size, 0)));
    if (!ruleset) return failed("cannot create the rules");
    Rules rules(ruleset.get(), attributes.handled_fs);
    constexpr std::uint64_t kNames = access::kMakeFile | access::kRemoveFile;
    constexpr std::uint64_t kContent = access::kWriteFile | access::kTruncate;
    constexpr std::uint64_t kTree =
        kNames | kContent | access::kMakeDirectory | access::kRemoveDirectory | access::kMakeLink | access::kRefer;
    // O_DIRECTORY triggers an automount now, which would otherwise occur at the first use.
    rules.allow(places.trees, kTree, false, O_DIRECTORY);
    rules.allow(places.files, kContent, true);
    rules.allow(places.renames, kNames);
    rules.allow(places.links, access::kMakeFile);
    // Shares of the host's rate are files that are opened for locking.
    rules.allow(places.runtime, kNames | access::kWriteFile | access::kMakeSocket);
    if (::syscall(kRestrictSelf, ruleset.get(), 0) != 0) return failed("cannot apply the rules");
    return std::move(rules).left_out();
}
#else
int landlock_version() noexcept { return 0; }
Result<std::vector<PlaceLeftOut>> enter_landlock(int /*version*/, const SandboxPlaces& /*places*/) {
    return Error{ErrorCode::file_io, "Landlock needs Linux"};
}
#endif

/// Instrumented builds write their own reports to configured places, so `automatic` gives them no sandbox.
#ifdef UDTX_INSTRUMENTED
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

/// Started programs get no more rights than their parent. Without this, an ordinary user may not install a filter.
bool give_up_new_rights() {
#ifdef __linux__
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
#else
    return false;
#endif
}

Result<std::vector<PlaceLeftOut>> keep_to(const SandboxPlaces& places) {
    const int version = landlock_version();
    if (version < kLeastLandlock) {
        return Error{
            ErrorCode::file_io,
            "this system has no Landlock: it needs Linux 5.19 or later, and Landlock in its list of security modules"};
    }
    return enter_landlock(version, places);
}

}  // namespace

Result<Sandbox> enter_sandbox(SandboxMode mode, const SandboxPlaces& places) {
    if (mode == SandboxMode::off) return Sandbox{"no sandbox: --sandbox off"};
    if (mode == SandboxMode::automatic && kInstrumented) return Sandbox{"no sandbox: an instrumented build"};
    if (!give_up_new_rights()) {
        if (mode == SandboxMode::on) return Error{ErrorCode::file_io, "--sandbox on: this system has no sandbox"};
        return Sandbox{"no sandbox: this system has none"};
    }
    // Landlock comes first, because it handles files by name. The filter distinguishes only calls.
    const auto kept = keep_to(places);
    const auto filtered = enter_call_filter();
    for (const Error* failed : {kept ? nullptr : &kept.error(), filtered ? nullptr : &filtered.error()}) {
        if (failed != nullptr && mode == SandboxMode::on)
            return Error{failed->code, "--sandbox on: " + failed->message};
    }
    const std::string files =
        kept ? "writes below its directories only" : "writes anywhere (" + kept.error().message + ")";
    const std::string calls = filtered ? "starts no programs" : "starts programs (" + filtered.error().message + ")";
    return Sandbox{.line = "sandbox: " + files + "; " + calls,
                   .failed = !kept && landlock_version() >= kLeastLandlock,
                   .left_out = kept ? *kept : std::vector<PlaceLeftOut>(),
                   .confined = kept.ok(),
                   .filtered = filtered.ok()};
}

Result<void> seal_sandbox(SandboxMode mode, const Sandbox& sandbox) {
    if (!sandbox.filtered) return {};
    const auto sealed = refuse_local_sockets();
    if (sealed || mode != SandboxMode::on) return {};
    return Error{sealed.error().code, "--sandbox on: " + sealed.error().message};
}

}  // namespace udtx::apps
