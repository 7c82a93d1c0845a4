#include "dial/dial_handler.hpp"

#include <utility>

namespace udtx::apps {

DialHandler::DialHandler(io::Driver& driver, std::vector<proto::PathAddresses> candidates, bool several,
                         transfer::Job& job, Log& log)
    : job_(job),
      dial_(std::make_shared<io::Dial>(io::Dial::Setup{
          .driver = driver,
          .ways = std::move(candidates),
          .several = several,
          .handler = {std::shared_ptr<void>(), &job},  // the job outlives it
          .connected = [&job](proto::Connection&, proto::Waker waker) { job.set_waker(std::move(waker)); },
          .log = [&log](
                     LogLevel level,
                     const std::string& text) { level == LogLevel::warning ? log.warn(text) : log.detail(text); }})) {}

void DialHandler::abort(ErrorCode code, const std::string& reason) {
    dial_->act_last([&job = job_, code, reason](Instant now, proto::Connection& connection) {
        job.abort(now, connection, code, reason);
    });
}

}  // namespace udtx::apps
