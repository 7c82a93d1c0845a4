// Extended attributes of the `user.` namespace. Those of other namespaces (security, trusted, system) are neither read
// nor set, since they grant rights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transfer/message/messages.hpp"

namespace udtx::transfer {

/// Attributes outside of the user namespace that are not sent, but that the sender reports.
struct OtherAttributes {
    bool capability = false;
    bool access_list = false;
};

/// The mode of an entry that may have an access control list, which is not sent: nobody gets more rights by the mode
/// than by the list. With a list, the group's bits in `mode` are only an upper limit for all of its entries.
[[nodiscard]] std::uint32_t mode_without_list(int fd, std::uint32_t mode);
[[nodiscard]] std::uint32_t mode_without_list(int directory, const std::string& name, std::uint32_t mode);

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

}  // namespace udtx::transfer
