#include "transfer/source/extent_cursor.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace udtx::transfer {

std::optional<Extent> ExtentCursor::next() {
    if (at_ >= data_end_) seek_data();
    if (at_ >= end_) return std::nullopt;
    const Extent extent{at_, std::min(kSentExtentBytes, data_end_ - at_)};
    at_ += extent.length;
    return extent;
}

void ExtentCursor::seek_data() {
    data_end_ = end_;
#ifdef SEEK_DATA
    if (!holes_ || at_ >= end_) return;
    const off_t data = ::lseek(fd_, static_cast<off_t>(at_), SEEK_DATA);
    if (data < 0) {
        // ENXIO: only a hole follows. Any other error: this file system cannot tell, so all is data.
        if (errno == ENXIO) at_ = end_;
        return;
    }
    at_ = std::min(static_cast<std::uint64_t>(data), end_);
    const off_t hole = ::lseek(fd_, data, SEEK_HOLE);
    if (hole > data) data_end_ = std::min(static_cast<std::uint64_t>(hole), end_);
#endif
}

}  // namespace udtx::transfer
