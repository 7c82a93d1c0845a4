// udtx, the default controller: its mechanisms, and the class that joins them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "congestion/ack_interval.hpp"
#include "congestion/udtx/careful_start.hpp"
#include "congestion/udtx/compete.hpp"
#include "congestion/udtx/seen.hpp"
#include "udtx/congestion.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::congestion {

// The mechanisms of udtx, each with a switch. Without one, the benefit of that mechanism can be measured
// (docs/lab/ablation.md).

enum class UdtxPart : std::uint8_t {
    rest,            ///< a flow alone keeps a longer queue
    fill,            ///< an empty queue makes x grow
    drain,           ///< all flows send less two seconds after the shortest queue
    refill,          ///< after a drain the queue is restored at once
    compete,         ///< a claim beside competing flows
    trial,           ///< half the rate, to see whether loss is random
    all_congestion,  ///< after a trial that found congestion, every loss is congestion
    heavy_loss,      ///< heavy loss bounds x, unless a trial found it random
    loss,            ///< p_c lowers the share
    jitter,          ///< a path whose delays tell nothing is steered by deliveries
    ends,            ///< fits the window if the hosts are slower than the link
    hold,            ///< a flow ignores the queue that it made itself by a start or a search
    sole,            ///< a start alone on the link does not count as a start beside others
    half_start,      ///< the ramp begins at C/2, not at C/8
    tiers,           ///< C follows a slower link faster at a higher congestion degree
    pace,            ///< the pacing rate reacts to the queue at once
    two_speeds,      ///< differences between flows settle faster than changes of all
    cap,             ///< x is at most 1.25 of what was delivered
    longer_path,     ///< a queue that does not vary is a longer path
    hold_base,       ///< the base delay is kept while others keep up the queue
};

inline constexpr std::array kUdtxParts = std::to_array<std::string_view>(
    {"rest",       "fill", "drain",      "refill", "compete",     "trial",    "all-congestion",
     "heavy-loss", "loss", "jitter",     "ends",   "hold",        "sole",     "half-start",
     "tiers",      "pace", "two-speeds", "cap",    "longer-path", "hold-base"});

/// All mechanisms except those taken out.
class UdtxParts {
  public:
    [[nodiscard]] constexpr UdtxParts without(UdtxPart part) const {
        UdtxParts out = *this;
        out.off_ |= 1U << static_cast<unsigned>(part);
        return out;
    }
    [[nodiscard]] constexpr bool has(UdtxPart part) const { return (off_ >> static_cast<unsigned>(part) & 1U) == 0; }

  private:
    std::uint32_t off_ = 0;
};

// udtx, the default controller: UDT's packet-pair MTR and D-AIMD, governed by congestion degree and delay.
//
// With a common capacity C (MTR) and a common queueing delay q, every flow aims at the share 2^(-q/q_h). So N flows
// rest at C/N with q = q_h log2 N, at any round-trip time. docs/inside/congestion.md has equations and parameters.

class Udtx final : public CongestionController {
  public:
    explicit Udtx(const CongestionOptions& options, UdtxParts parts = {});

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override;
    [[nodiscard]] std::uint32_t probe_packets() const override;
    [[nodiscard]] CongestionReport report() const override;
    void recall(const KnownPath& path, Duration rtt) override;
    [[nodiscard]] std::optional<KnownPath> known_path() const override;

    // For reports and tests.
    enum class State : std::uint8_t {
        blind,   ///< slow start, until a train measures C
        ramp,    ///< x grows to C
        share,   ///< x follows the share at q
        search,  ///< delays and trains tell little: x doubles until deliveries grow no more
        trial,   ///< x/2 for a moment: does the loss ratio fall?
        drain,   ///< x/4 until the queue is empty
        refill,  ///< 1.25 x until the queue is as before
        claim,   ///< beside flows that fill the queue: as `share`, and x is at least the claim
    };
    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] double rate() const noexcept { return rate_; }  ///< x, bytes/s
    [[nodiscard]] const UdtxDelay& delay() const noexcept { return delay_; }
    [[nodiscard]] const UdtxLoss& loss() const noexcept { return loss_; }
    [[nodiscard]] const UdtxMtr& mtr() const noexcept { return mtr_; }
    [[nodiscard]] const UdtxCarefulStart& careful() const noexcept { return careful_; }

  private:
    static constexpr Step<State> kSteps[] = {
        {State::blind, State::ramp},    // a train gave C
        {State::ramp, State::ramp},     // two probe timeouts in a row; so in each state
        {State::ramp, State::share},    // C is reached, or others or losses show
        {State::share, State::search},  // deliveries grow where delays tell little
        {State::search, State::share},  // they grow no more, or a queue formed
        {State::share, State::trial},   // losses that no delay explains
        {State::trial, State::share},   // judged
        {State::share, State::drain},   // all `udtx` flows drain now
        {State::drain, State::refill},  // its time is over
        {State::refill, State::share},  // the queue is as before
        {State::share, State::claim},   // others fill the queue
        {State::claim, State::drain},   // all `udtx` flows drain now
        {State::refill, State::claim},  // the queue is as before, and others fill it
        {State::claim, State::share},   // drains empty the queue, or C is delivered
        {State::search, State::ramp},  {State::share, State::ramp},  {State::trial, State::ramp},
        {State::drain, State::ramp},   {State::refill, State::ramp}, {State::claim, State::ramp},
    };

    // What is seen
    double observe(const CongestionFeedback& feedback);
    void count_packets(const CongestionFeedback& feedback);
    void observe_drains(const CongestionFeedback& feedback);
    void note_path(const CongestionFeedback& feedback);

    // The states
    void blind(const CongestionFeedback& feedback);
    void ramp(const CongestionFeedback& feedback, double dt);
    void share(const CongestionFeedback& feedback, double dt);
    void search(const CongestionFeedback& feedback);
    void trial(const CongestionFeedback& feedback);
    void claim(const CongestionFeedback& feedback, double dt);
    void drain(Instant now);
    void restart();
    void forget_company();
    void begin_refill(Instant now);
    void hold(Instant now);
    void bound_rate(const CongestionFeedback& feedback);

    // In `share`
    [[nodiscard]] bool leave_share(const CongestionFeedback& feedback);
    void steer(const CongestionFeedback& feedback, double dt);
    void steer_rough(const CongestionFeedback& feedback, double dt);
    void fill(const CongestionFeedback& feedback, double dt);
    void reconsider_sharing(const CongestionFeedback& feedback);

    [[nodiscard]] double least_half_delay() const;
    [[nodiscard]] double half_delay() const;  // q_h
    [[nodiscard]] std::optional<double> roomy_buffer() const;
    [[nodiscard]] bool shallow() const;
    [[nodiscard]] bool alone() const;
    [[nodiscard]] double packet_time() const;  // Lp
    [[nodiscard]] double ack_interval() const;
    [[nodiscard]] double loop_time() const;
    [[nodiscard]] double longest_hold() const;
    [[nodiscard]] double room() const;
    [[nodiscard]] double rest() const;               // of q_h, in q_eq
    [[nodiscard]] double equilibrium_delay() const;  // q_eq
    [[nodiscard]] double drain_length() const;
    [[nodiscard]] double capacity() const;  // C', which makes up for random loss
    [[nodiscard]] double claimed() const;

    [[nodiscard]] bool has(UdtxPart part) const { return parts_.has(part); }

    CongestionOptions options_;
    UdtxParts parts_;
    std::uint32_t datagram_bytes_;
    UdtxDelay delay_;
    UdtxRoughness roughness_;
    UdtxLoss loss_;
    UdtxMtr mtr_;
    UdtxEnds ends_;
    UdtxShare share_;
    UdtxTrial trial_;
    UdtxDrains drains_;
    UdtxCompany company_;
    UdtxClaim claim_;
    AckInterval acks_;
    UdtxCarefulStart careful_;
    std::optional<KnownPath> known_;  // measured in steady state

    Lifecycle<kSteps> state_{State::blind};
    double rate_ = 0.0;          // x
    double blind_window_ = 0.0;  // bytes
    double degree_ = 0.0;        // CD
    std::optional<Instant> updated_;
    Instant sent_;
    bool first_ramp_ = true;                // no timeout yet
    std::optional<Instant> at_line_since_;  // ramp: x has reached C
    std::optional<Instant> shared_since_;   // ramp: q > q_h; later: the ramp ended by that
    double carried_ = 0.0;                  // highest delivery since then, bytes/s
    Instant hold_until_;                    // the queue is that of the own start or search
    std::optional<Instant> low_since_;      // the queue is empty, so x grows
    double gain_ = 0.0;                     // growth per RTT of fill()
    double found_ = 0.0;   // delivery that the last search found, bytes/s; 0: none since the path became doubtful
    Instant found_since_;  // search: last growth of found_
    double passed_ = 0.0;  // delivery before the trial, bytes/s
    double remaining_loss_ = 0.0;   // loss ratio that the trial left
    Instant all_congestion_until_;  // every loss is congestion until then
    Instant refilled_at_;           // refill ends
};

}  // namespace udtx::congestion
