#include "base/error.hpp"

#include <algorithm>
#include <climits>

#include "udtx/result.hpp"

namespace udtx {
namespace {

const char* describe(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument:
            return "invalid argument";
        case ErrorCode::malformed:
            return "malformed bytes";
        case ErrorCode::protocol:
            return "the peer broke the protocol";
        case ErrorCode::authentication:
            return "authentication failed";
        case ErrorCode::network:
            return "network failure";
        case ErrorCode::no_route:
            return "no route to the peer";
        case ErrorCode::udp_blocked:
            return "nothing came back";
        case ErrorCode::timeout:
            return "timed out";
        case ErrorCode::file_io:
            return "file access failed";
        case ErrorCode::integrity:
            return "hash or size does not match";
        case ErrorCode::refused:
            return "refused by the peer";
        case ErrorCode::interrupted:
            return "ended by a user";
        case ErrorCode::partial:
            return "some files could not be moved";
        case ErrorCode::cancelled:
            return "the wait was cancelled";
        case ErrorCode::internal:
            return "internal error";
        case ErrorCode::superseded:
            return "a newer run has taken over";
        case ErrorCode::going_away:
            return "the server is being stopped";
        case ErrorCode::no_resources:
            return "no memory, threads or descriptors left";
        case ErrorCode::changed:
            return "a source changed while it was read";
        case ErrorCode::not_sent:
            return "the sender did not send the file";
    }
    return "unknown error";
}

class TransportErrors final : public std::error_category {
  public:
    [[nodiscard]] const char* name() const noexcept override { return "udtx"; }
    [[nodiscard]] std::string message(int value) const override { return describe(static_cast<ErrorCode>(value)); }
    [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<ErrorCode>(value)) {
            case ErrorCode::invalid_argument:
                return std::errc::invalid_argument;
            case ErrorCode::timeout:
                return std::errc::timed_out;
            case ErrorCode::cancelled:
                return std::errc::operation_canceled;
            default:
                return {value, *this};
        }
    }
};

class ApplicationErrors final : public std::error_category {
  public:
    [[nodiscard]] const char* name() const noexcept override { return "udtx.application"; }
    [[nodiscard]] std::string message(int value) const override {
        return "the application's code " + std::to_string(value);
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const TransportErrors category;
    return category;
}

const std::error_category& application_category() noexcept {
    static const ApplicationErrors category;
    return category;
}

std::error_code Error::error_code() const noexcept {
    if (application_code == 0) return make_error_code(code);
    return {static_cast<int>(std::min<std::uint64_t>(application_code, INT_MAX)), application_category()};
}

}  // namespace udtx
