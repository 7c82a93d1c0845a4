// What a driver does while the system refuses to receive. The cause, usually a lack of memory, may soon be over.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "io/driver.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx::io {

/// Only the protocol thread uses this.
class ReceiveTrouble {
  public:
    /// `again` tries to receive again.
    ReceiveTrouble(boost::asio::io_context& context, std::function<void()> again)
        : timer_(context), again_(std::move(again)) {}

    void on_trouble(Driver::TroubleCallback tell) { tell_ = std::move(tell); }
    /// Something arrived.
    void over() noexcept { stage_ = Stage::none; }
    /// The system refused to receive, with this errno: tries again after a pause, which grows each time. The socket
    /// stays readable, so waiting for that would repeat the call at once. Returns the error with which all connections
    /// must end, if they must.
    [[nodiscard]] std::optional<Error> refused(int error);

  private:
    enum class Stage { none, young, told, over };

    boost::asio::steady_timer timer_;
    const std::function<void()> again_;
    Driver::TroubleCallback tell_;
    Stage stage_ = Stage::none;
    Instant since_{};
    Duration pause_{};
};

}  // namespace udtx::io
