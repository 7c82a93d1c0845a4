#include "transfer/landing/failure_rule.hpp"

#include <cerrno>
#include <string>

namespace udtx::transfer {

namespace {

constexpr int kMaxFailuresInARow = 32;
// One file that does not fit says nothing about smaller ones. After several such files, sending more is useless.
constexpr int kMaxFullInARow = 4;

}  // namespace

bool is_full_disk(const Error& error) noexcept {
    return error.code == ErrorCode::file_io && (error.system_error == ENOSPC || error.system_error == EDQUOT);
}

bool is_of_disk(const Error& error) noexcept {
    if (error.code != ErrorCode::file_io) return false;
    switch (error.system_error) {
        case EIO:
        case EROFS:
        case ENOSPC:
        case EDQUOT:
        case ENODEV:    // removed
        case ENXIO:     // removed
        case ENOTCONN:  // the process behind a FUSE file system has ended
            return true;
        default:
            return false;
    }
}

std::optional<Error> DiskWatch::failed(const Error& error) {
    if (!is_of_disk(error)) return std::nullopt;
    ++failed_;
    full_ = is_full_disk(error) ? full_ + 1 : 0;
    if (failed_ < kMaxFailuresInARow && full_ < kMaxFullInARow) return std::nullopt;
    return Error{ErrorCode::file_io,
                 "giving up after " + std::to_string(failed_) + " failures in a row, last: " + error.message,
                 error.system_error};
}

}  // namespace udtx::transfer
