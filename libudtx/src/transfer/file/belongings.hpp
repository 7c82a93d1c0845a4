// The attributes of a file besides its data: extended ones, mode, owner, time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "transfer/message/messages.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

// Extended attributes of the `user.` namespace. Those of other namespaces (security, trusted, system) are neither read
// nor set, since they grant rights.

/// Attributes outside of the user namespace that are not sent, but that the sender reports.
struct OtherAttributes {
    bool capability = false;
    bool access_list = false;
};

/// The mode of an entry that may have an access control list, which is not sent: nobody gets more rights by the mode
/// than by the list. With a list, the group's bits in `mode` are only an upper limit for all of its entries.
struct ModeWithoutList {
    std::uint32_t mode = 0;
    int error_number = 0;  ///< errno of reading the list: nobody but the owner gets a right; 0: none
};
[[nodiscard]] ModeWithoutList mode_without_list(int fd, std::uint32_t mode);
[[nodiscard]] ModeWithoutList mode_without_list(int directory, const std::string& name, std::uint32_t mode);

/// Why some attributes were not read.
struct AttributesLeft {
    bool too_many = false;  ///< more than fit into one message
    int error_number = 0;   ///< errno of reading; 0: none
    [[nodiscard]] bool none() const noexcept { return !too_many && error_number == 0; }
};

/// Reads the attributes that fit into one message and that can be read.
[[nodiscard]] AttributesLeft read_attributes(int fd, std::vector<message::Attribute>& out,
                                             OtherAttributes* others = nullptr);
/// Skips names outside of the user namespace and leaves values alone that are already right. With `all`, it removes
/// other attributes of that namespace. It tries all attributes and returns 0 or the first errno.
[[nodiscard]] int write_attributes(int fd, const std::vector<message::Attribute>& attributes, bool all = false);

/// True if write_attributes() would change something, or if that cannot be read.
[[nodiscard]] bool attributes_differ(int fd, const std::vector<message::Attribute>& attributes, bool all);

/// Equal for the same attributes, in any order.
[[nodiscard]] std::uint64_t attributes_key(std::vector<message::Attribute> attributes);

// The attributes of a file besides its data. Each is set by itself, so that one refusal of a file system affects no
// other attribute.

/// Called with the attribute that could not be set, and the errno.
using OnUnset = std::function<void(Belonging what, int error_number)>;

struct Owner {
    std::uint32_t user = 0;
    std::uint32_t group = 0;
};

/// 0 or an errno. The group is set even if the user cannot be set.
[[nodiscard]] int set_owner(int fd, const Owner& owner);
/// 0 or an errno. It also fails if the system silently dropped a special bit, as it does for a group that the process
/// is not in. It makes no change if the mode is already right.
[[nodiscard]] int set_mode(int fd, std::uint32_t mode);

}  // namespace udtx::transfer
