// Error messages for destinations that the system cannot send to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "udtx/address.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx::io {

/// True for a link-local address without an interface: the system would use any.
[[nodiscard]] bool lacks_zone(const Address& address) noexcept;
/// The system's text for `error`, and advice.
[[nodiscard]] std::string describe_no_way(const Address& remote, int error);

// What a driver does while the system refuses to receive. The cause, usually a lack of memory, may soon be over.

/// Only the protocol thread uses this.
class ReceiveTrouble {
  public:
    /// Reports that the system has refused to receive for a second, and with `over` that it did so for kReceivesNothing
    /// and all connections end for it.
    using Callback = std::function<void(const Error& why, bool over)>;
    /// Shorter than TransportConfig::handshake_timeout, whose end would be blamed on the path.
    static constexpr Duration kReceivesNothing = std::chrono::seconds(5);

    void on_trouble(Callback tell) { tell_ = std::move(tell); }
    /// Something arrived.
    void over() noexcept { stage_ = Stage::none; }
    /// The system refused to receive, with this errno: try again at again_at(). The pause grows each time. The socket
    /// stays readable, so waiting for that would repeat the call at once. Returns the error with which all connections
    /// must end, if they must.
    [[nodiscard]] std::optional<Error> refused(int error);
    [[nodiscard]] std::optional<Instant> again_at() const noexcept { return again_at_; }
    /// True once when that time has come.
    [[nodiscard]] bool due(Instant now) noexcept {
        if (!again_at_ || now < *again_at_) return false;
        again_at_.reset();
        return true;
    }

  private:
    enum class Stage { none, young, told, over };

    std::optional<Instant> again_at_;
    Callback tell_;
    Stage stage_ = Stage::none;
    Instant since_{};
    Duration pause_{};
};

}  // namespace udtx::io
