// What decides about a server and reports on it: when it stops, whom it refuses, and the sum of its transfers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/guarded.hpp"
#include "common/log.hpp"
#include "common/process.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "serve/transfers.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Decides when a server stops: what each signal requests, and how long the process may continue. Use it on one thread.
class ServerEnd {
  public:
    /// Time after a signal that ends transfers. In it the disk must store complete files and remove incomplete ones.
    static constexpr Duration kInterruptGrace = std::chrono::seconds(5);

    /// `one_off`: the server ends with its transfer, and every signal ends that transfer. `longest_drain`: limit of the
    /// time between the first TERM and the end of the transfers.
    explicit ServerEnd(bool one_off, std::optional<Duration> longest_drain = std::nullopt)
        : one_off_(one_off), longest_drain_(longest_drain) {}

    enum class Wish {
        nothing,   ///< HUP to a server that ends its transfers
        repeated,  ///< see Interruption::Wish
        reload,    ///< read the keys again: HUP to a server
        drain,     ///< accept no new transfers, complete the running ones: the first TERM of a server
        wind_up,   ///< end the running transfers in an orderly way
        leave,     ///< exit at once
    };
    [[nodiscard]] Wish on_signal(int signal, Instant now) noexcept;
    /// True once, when the transfers must end because the drain has reached its limit.
    [[nodiscard]] bool drained_too_long(Instant now) noexcept;

    enum class Stage {
        serving,
        draining,     ///< the server ends as soon as no transfer is left
        cut_off,      ///< the drain reached its limit: the running transfers were told to end
        interrupted,  ///< so they were by a signal
    };
    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    /// The running transfers were told to end.
    [[nodiscard]] bool winding_up() const noexcept { return stage_ == Stage::cut_off || stage_ == Stage::interrupted; }
    /// The first signal that ends transfers; 0: none.
    [[nodiscard]] int signal() const noexcept { return interruption_.signal(); }
    /// kInterruptGrace is over.
    [[nodiscard]] bool overdue(Instant now) const noexcept { return winding_up() && now >= deadline_; }

  private:
    static constexpr Step<Stage> kSteps[] = {{Stage::serving, Stage::draining},
                                             {Stage::serving, Stage::interrupted},
                                             {Stage::draining, Stage::cut_off},
                                             {Stage::draining, Stage::interrupted},
                                             {Stage::cut_off, Stage::interrupted}};

    bool one_off_;
    std::optional<Duration> longest_drain_;
    Interruption interruption_;
    Lifecycle<kSteps> stage_{Stage::serving};
    Instant draining_since_{};
    Instant deadline_{};  // set when the transfers are told to end
};

// Logs refused clients. Anyone may try a thousand times a second, so it logs one line a second, and then the number of
// the other refusals.

/// Any thread may use it.
class RefusalLog {
  public:
    /// The log must outlive it. `all`: logs a line for each refusal.
    RefusalLog(Log& log, bool all) : log_(log), all_(all) {}
    void tell(Instant now, const std::string& line);
    /// Call it a few times a second.
    void look(Instant now);
    /// Logs the remaining count. Call it after the last tell().
    void finish();

  private:
    struct Told {
        std::optional<Instant> last{};
        std::uint64_t left_out = 0;  // since then
    };
    void tell_rest(Told& told);

    Log& log_;
    const bool all_;
    Guarded<Told> told_;
};

/// The combined report of all transfers of a run.
/// A single transfer's own report, or the sums over several. Use it on one thread.
class TotalReport {
  public:
    explicit TotalReport(const RecvCommand& command);

    void add(FinalReport report);
    /// A signal ended the running transfers.
    void interrupted_by(int signal);
    /// The server cannot go on.
    void failed(const Error& why);
    /// The run ended as requested. Each transfer has already reported its own code and error.
    void drained();
    [[nodiscard]] std::uint64_t transfers() const noexcept { return total_.transfers; }
    [[nodiscard]] FinalReport& get() noexcept { return total_; }

  private:
    [[nodiscard]] std::string delivery() const;

    bool one_off_;
    FinalReport total_;
};

/// The report about one served transfer, ended or running.
[[nodiscard]] FinalReport report_of(const RecvCommand& command, const WatchedTransfer& watched);
/// Prints the messages about one transfer or the whole run. `of` is put before each line. `sent`: this side sent the
/// data.
void show(const RecvCommand& command, const Run& run, const FinalReport& report, const std::string& of, bool sent);

}  // namespace udtx::apps
