#include "transfer/file/belongings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

#ifdef __linux__
#include <sys/xattr.h>

#include <array>
#include <span>
#include <string_view>
#endif

namespace udtx::transfer {

#ifdef __linux__

namespace {

constexpr std::string_view kUser = "user.";
constexpr std::string_view kCapability = "security.capability";
constexpr std::string_view kAccessList = "system.posix_acl_";
constexpr const char* kList = "system.posix_acl_access";
constexpr std::size_t kMaxListBytes = 64U << 10U;  // XATTR_LIST_MAX

/// Appends the names of the user namespace and sets `others` for some names outside of it. 0 or an errno.
int list_names(int fd, std::vector<std::string>& out, OtherAttributes* others = nullptr) {
    // Most files have no attributes, and a tree has many files: ask for the size first.
    ssize_t listed = ::flistxattr(fd, nullptr, 0);
    std::vector<char> names(listed > 0 ? kMaxListBytes : 0);
    if (listed > 0) listed = ::flistxattr(fd, names.data(), names.size());
    if (listed < 0) return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;  // the file system has no attributes
    for (std::string_view rest(names.data(), listed > 0 ? static_cast<std::size_t>(listed) : 0); !rest.empty();) {
        std::string name(rest.substr(0, rest.find('\0')));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        if (others != nullptr && name == kCapability) others->capability = true;
        if (others != nullptr && name.starts_with(kAccessList)) others->access_list = true;
        if (name.starts_with(kUser)) out.push_back(std::move(name));
    }
    return 0;
}

bool is_listed(int fd, const std::string& name) {
    std::vector<std::string> names;
    const int error = list_names(fd, names);
    const bool listed = std::find(names.begin(), names.end(), name) != names.end();
    errno = error != 0 ? error : ENODATA;
    return error != 0 || listed;
}

bool has_value(int fd, const message::Attribute& attribute) {
    std::string value(attribute.value.size() + 1, '\0');
    const ssize_t length = ::fgetxattr(fd, attribute.name.c_str(), value.data(), value.size());
    return length >= 0 && value.substr(0, static_cast<std::size_t>(length)) == attribute.value;
}

/// The bits of a mode that group and others have in a list, in the form of the kernel: a version of four bytes, then a
/// tag, rights and an id for each entry, all in little endian.
std::uint32_t rights_in(std::span<const unsigned char> list) {
    constexpr std::size_t kHead = 4;
    constexpr std::size_t kEntry = 8;
    enum Tag : std::uint32_t { user = 2, own_group = 4, group = 8, mask = 16, others = 32 };
    std::uint32_t own = 7;
    std::uint32_t most = 7;
    std::uint32_t other = 7;
    std::uint32_t users = 7;
    std::uint32_t named = 7;
    bool has_names = false;
    for (std::size_t at = kHead; at + kEntry <= list.size(); at += kEntry) {
        const std::uint32_t tag = list[at] | (static_cast<std::uint32_t>(list[at + 1]) << 8U);
        const std::uint32_t rights = list[at + 2] & 7U;
        if (tag == own_group) own = rights;
        if (tag == mask) most = rights;
        if (tag == others) other = rights;
        if (tag == user) users &= rights;
        has_names = has_names || tag == user || tag == group;
        if (tag == user || tag == group) named &= rights;
    }
    // A named user may be in the group, and named users and groups are among the others once the list is gone.
    const std::uint32_t of_group = own & most & users;
    const std::uint32_t of_others = other & named & (has_names ? most : 7U);
    return (of_group << 3U) | of_others;
}

/// `get`: reads the attribute of that name into a buffer, as fgetxattr() does.
template <class Get>
ModeWithoutList within_list(std::uint32_t mode, const Get& get) {
    constexpr std::uint32_t kBits = 077;
    if ((mode & kBits) == 0) return {mode};
    std::array<unsigned char, 512> some{};
    ssize_t length = get(some.data(), some.size());
    if (length >= 0) return {mode & (~kBits | rights_in(std::span(some).first(static_cast<std::size_t>(length))))};
    const bool unreadable = errno == EACCES || errno == EIO;
    if (unreadable) return {mode & ~kBits, errno};
    if (errno != ERANGE) return {mode};
    std::vector<unsigned char> all(kMaxListBytes);
    length = get(all.data(), all.size());
    if (length < 0) return {mode & ~kBits, errno};
    return {mode & (~kBits | rights_in(std::span(all).first(static_cast<std::size_t>(length))))};
}

}  // namespace

ModeWithoutList mode_without_list(int fd, std::uint32_t mode) {
    return within_list(mode, [fd](void* to, std::size_t room) { return ::fgetxattr(fd, kList, to, room); });
}

ModeWithoutList mode_without_list(int directory, const std::string& name, std::uint32_t mode) {
    // No older system call takes a directory and a name.
    const std::string path = "/proc/self/fd/" + std::to_string(directory) + '/' + name;
    return within_list(mode, [&](void* to, std::size_t room) { return ::lgetxattr(path.c_str(), kList, to, room); });
}

AttributesLeft read_attributes(int fd, std::vector<message::Attribute>& out, OtherAttributes* others) {
    AttributesLeft left;
    std::vector<std::string> names;
    left.error_number = list_names(fd, names, others);
    std::vector<char> value(names.empty() ? 0 : kMaxAttributeBytes);
    std::size_t bytes = 0;
    for (const std::string& name : names) {
        const ssize_t length = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
        if (length < 0 && errno == ENODATA && !is_listed(fd, name)) continue;  // removed meanwhile
        if (length < 0 && errno != ERANGE) {
            left.error_number = errno;
            continue;
        }
        if (length >= 0) bytes += name.size() + static_cast<std::size_t>(length);
        left.too_many = length < 0 || bytes > kMaxAttributeBytes || out.size() == kMaxAttributes;
        if (left.too_many) break;
        out.push_back({name, std::string(value.data(), static_cast<std::size_t>(length))});
    }
    return left;
}

int write_attributes(int fd, const std::vector<message::Attribute>& attributes, bool all) {
    std::vector<std::string> names;
    int first_error = all ? list_names(fd, names) : 0;
    for (const std::string& name : names) {
        const auto has_name = [&](const message::Attribute& attribute) { return attribute.name == name; };
        const bool stays = std::any_of(attributes.begin(), attributes.end(), has_name);
        if (!stays && ::fremovexattr(fd, name.c_str()) != 0 && first_error == 0) first_error = errno;
    }
    for (const message::Attribute& attribute : attributes) {
        if (!attribute.name.starts_with(kUser) || has_value(fd, attribute)) continue;
        if (::fsetxattr(fd, attribute.name.c_str(), attribute.value.data(), attribute.value.size(), 0) == 0) continue;
        if (first_error == 0) first_error = errno;
    }
    return first_error;
}

bool attributes_differ(int fd, const std::vector<message::Attribute>& attributes, bool all) {
    const auto is_new = [fd](const message::Attribute& attribute) {
        return attribute.name.starts_with(kUser) && !has_value(fd, attribute);
    };
    if (std::any_of(attributes.begin(), attributes.end(), is_new)) return true;
    std::vector<std::string> names;
    if (all && list_names(fd, names) != 0) return true;
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return std::none_of(attributes.begin(), attributes.end(),
                            [&](const auto& other) { return other.name == name; });
    });
}

#else

ModeWithoutList mode_without_list(int /*fd*/, std::uint32_t mode) { return {mode}; }
ModeWithoutList mode_without_list(int /*directory*/, const std::string& /*name*/, std::uint32_t mode) { return {mode}; }
bool attributes_differ(int /*fd*/, const std::vector<message::Attribute>& attributes, bool /*all*/) {
    return !attributes.empty();
}
AttributesLeft read_attributes(int /*fd*/, std::vector<message::Attribute>& /*out*/, OtherAttributes* /*others*/) {
    return {};
}
int write_attributes(int /*fd*/, const std::vector<message::Attribute>& attributes, bool /*all*/) {
    return attributes.empty() ? 0 : ENOTSUP;
}

#endif

std::uint64_t attributes_key(std::vector<message::Attribute> attributes) {
    std::sort(attributes.begin(), attributes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    std::string all;
    for (const message::Attribute& attribute : attributes) {
        all += attribute.name + '\0' + std::to_string(attribute.value.size()) + '\0' + attribute.value;
    }
    return path_key(all);
}

int set_owner(int fd, const Owner& owner) {
    struct stat st = {};
    const auto is_set = [&] { return ::fstat(fd, &st) == 0 && st.st_uid == owner.user && st.st_gid == owner.group; };
    if (is_set()) return 0;
    // Some file systems accept it and do nothing.
    if (again([&] { return ::fchown(fd, owner.user, owner.group); }) == 0) return is_set() ? 0 : EPERM;
    const int error = errno;
    [[maybe_unused]] const int tried = ::fchown(fd, static_cast<uid_t>(-1), owner.group);
    return error;
}

int set_mode(int fd, std::uint32_t mode) {
    struct stat st = {};
    const auto is_set = [&] { return ::fstat(fd, &st) == 0 && (st.st_mode & mode_bits::kAll) == mode; };
    if (is_set()) return 0;
    if (again([&] { return ::fchmod(fd, static_cast<mode_t>(mode)); }) != 0) {
        const int error = errno;
        // If the system refuses only a special bit, set the other bits.
        const bool special = (mode & mode_bits::kSpecial) != 0;
        if (special) static_cast<void>(::fchmod(fd, static_cast<mode_t>(mode & ~mode_bits::kSpecial)));
        return error;
    }
    return is_set() ? 0 : EPERM;
}

}  // namespace udtx::transfer
