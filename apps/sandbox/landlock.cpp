#include "sandbox/landlock.hpp"

#ifdef __linux__
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "udtx/descriptor.hpp"
#include "udtx/output_file.hpp"

namespace udtx::apps {

#ifdef __linux__
namespace {

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

}  // namespace

int landlock_version() noexcept {
    const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
    return version < 0 ? 0 : static_cast<int>(version);
}

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

}  // namespace udtx::apps
