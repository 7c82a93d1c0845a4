#include "transfer/job_report.hpp"

#include <cerrno>
#include <utility>

#include "test/catch.hpp"

namespace udtx::transfer {
namespace {

Outcome with_failed(FailedFile file) {
    Outcome outcome;
    outcome.failed_count = 1;
    outcome.failed.push_back(std::move(file));
    return outcome;
}

TEST_CASE("a transfer of which no file was delivered has the code of its first failure") {
    const auto status = status_from_failures(with_failed({"a", ErrorCode::file_io, "no space", ENOSPC}));
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::file_io);
    CHECK(status.error().message == "no space");
    CHECK(status.error().system_error == ENOSPC);
}

TEST_CASE("a transfer whose files changed or were not sent is partial") {
    for (const ErrorCode code : {ErrorCode::changed, ErrorCode::not_sent}) {
        const auto status = status_from_failures(with_failed({"a", code, "why"}));
        REQUIRE_FALSE(status.ok());
        CHECK(status.error().code == ErrorCode::partial);
        CHECK(status.error().message == "why");
    }
}

}  // namespace
}  // namespace udtx::transfer
