// Extended attributes of the user's own namespace. Others (security, trusted, system) are never read nor set: they
// grant rights.
#pragma once

#include <string>
#include <vector>

#include "transfer/message/messages.hpp"

namespace udtx::transfer {

/// What stands outside of that namespace and is not sent, but should be spoken of.
struct OtherAttributes {
    bool capability = false;
    bool access_list = false;
};

/// Why not all were read.
struct AttributesLeft {
    bool too_many = false;  ///< more than one message takes
    int error_number = 0;   ///< what their reading met
    [[nodiscard]] bool none() const noexcept { return !too_many && error_number == 0; }
};

/// All that one message takes and that can be read.
[[nodiscard]] AttributesLeft read_attributes(int fd, std::vector<message::Attribute>& out,
                                             OtherAttributes* others = nullptr);
/// Names outside of the user's namespace are passed over; values that are right stay untouched. With `all`, others of
/// that namespace go. 0 or the first errno: what one of them met keeps no other from being set.
[[nodiscard]] int write_attributes(int fd, const std::vector<message::Attribute>& attributes, bool all = false);

/// The same for the same attributes, in whatever order.
[[nodiscard]] std::uint64_t attributes_key(std::vector<message::Attribute> attributes);

}  // namespace udtx::transfer
