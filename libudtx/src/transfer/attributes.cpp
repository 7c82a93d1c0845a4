#include "transfer/attributes.hpp"

#ifdef __linux__
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <string_view>
#endif

namespace udtx::transfer {

#ifdef __linux__

namespace {

constexpr std::string_view kUser = "user.";
constexpr std::size_t kMaxNames = 64U << 10U;  // XATTR_LIST_MAX

}  // namespace

std::string read_attributes(int fd, std::vector<message::Attribute>& out) {
    std::vector<char> names(kMaxNames);
    const ssize_t listed = ::flistxattr(fd, names.data(), names.size());
    if (listed <= 0) return {};
    std::vector<char> value(kMaxAttributeBytes);
    std::size_t bytes = 0;
    for (std::string_view rest(names.data(), static_cast<std::size_t>(listed)); !rest.empty();) {
        const std::string name(rest.substr(0, rest.find('\0')));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        if (!name.starts_with(kUser)) continue;
        const ssize_t length = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
        if (length < 0 && errno == ENODATA) continue;
        if (length >= 0) bytes += name.size() + static_cast<std::size_t>(length);
        if (length < 0 || bytes > kMaxAttributeBytes || out.size() == kMaxAttributes) {
            return "not all of its extended attributes are sent: they are too many or too large";
        }
        out.push_back({name, std::string(value.data(), static_cast<std::size_t>(length))});
    }
    return {};
}

int write_attributes(int fd, const std::vector<message::Attribute>& attributes) {
    int first_error = 0;
    for (const message::Attribute& attribute : attributes) {
        if (!attribute.name.starts_with(kUser)) continue;
        if (::fsetxattr(fd, attribute.name.c_str(), attribute.value.data(), attribute.value.size(), 0) == 0) continue;
        if (errno == ENOTSUP) return 0;
        if (first_error == 0) first_error = errno;
    }
    return first_error;
}

#else

std::string read_attributes(int /*fd*/, std::vector<message::Attribute>& /*out*/) { return {}; }
int write_attributes(int /*fd*/, const std::vector<message::Attribute>& /*attributes*/) { return 0; }

#endif

}  // namespace udtx::transfer
