// All who watch a receiver's transfers, and who may change what they take together: JSON stream, metrics, control
// socket, --max-rate, schedule.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "control/control_commands.hpp"
#include "observe/page.hpp"
#include "options/watch_services.hpp"
#include "report/final_report.hpp"
#include "udtx-recv/options.hpp"
#include "udtx-recv/session.hpp"

namespace udtx::apps {

class ServerWatch {
  public:
    using Sessions = std::vector<std::shared_ptr<Session>>;

    ServerWatch(const RecvCommand& command, Log& log);
    /// What has to be open before the process gives up the right to open it.
    [[nodiscard]] Result<void> open_report();
    /// `sessions`: those under way; any thread asks. `print`: where the JSON stream goes.
    /// `port`: on which it listens.
    Result<void> start(std::uint16_t port, std::function<Sessions()> sessions, JsonTicker::Print print);

    /// Lets nobody ask any more; its socket goes.
    void stop();

    /// One thread. `protocol`: what the protocol thread has needed so far.
    void tick(Instant now, Duration since_start, const Sessions& sessions, Duration protocol);
    void ended(const Session& session, const FinalReport& report);
    /// When all is over: tells those who watch the page, and writes the report.
    void finish(Duration since_start, const Sessions& sessions, FinalReport& report);
    /// Any thread: a handshake failed.
    void refused() noexcept { ++refused_; }
    /// The most that a sender may be told in the handshake; protocol thread.
    [[nodiscard]] static Rate first_cap(const RecvCommand& command);

  private:
    [[nodiscard]] std::string metrics() const;
    [[nodiscard]] ControlStatus control_status(std::uint16_t port) const;

    const RecvCommand& command_;
    Log& log_;
    std::function<Sessions()> sessions_;
    RateGovernor rates_;
    std::atomic<std::uint64_t> ended_{0};
    std::atomic<std::uint64_t> failed_{0};
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::optional<JsonTicker> json_;
    std::optional<Observation> last_;  // of the one transfer, once it is over
    std::unique_ptr<Page> page_;
    std::unique_ptr<HttpServer> metrics_;
    std::unique_ptr<ControlSocket> control_;
};

}  // namespace udtx::apps
