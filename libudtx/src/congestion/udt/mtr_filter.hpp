// How the maximum transfer rate (MTR) follows the receiver's packet pairs. UDT and its relatives differ only in this.
#pragma once

#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx::congestion {

/// Input of one SYN interval; bytes are UDP payload.
struct MtrSample {
    Instant now;
    Rate filtered{};  ///< the receiver's median-filtered capacity, zero: unknown
    Rate raw{};       ///< from the newest pair alone, zero: no new pair
};

class MtrFilter {
  public:
    virtual ~MtrFilter() = default;
    /// The MTR after this SYN; `mtr` is zero while unknown.
    [[nodiscard]] virtual Rate update(Rate mtr, const MtrSample& sample) = 0;
    [[nodiscard]] virtual double congestion_degree() const { return 0.0; }
};

/// UDT: MTR = 7/8 MTR + 1/8 estimate. The estimate is the filtered capacity, or that of the newest pair alone (`raw`).
class UdtMtr final : public MtrFilter {
  public:
    explicit UdtMtr(bool raw = false) : raw_(raw) {}
    [[nodiscard]] Rate update(Rate mtr, const MtrSample& sample) override {
        const Rate estimate = raw_ ? sample.raw : sample.filtered;
        if (estimate.is_zero()) return mtr;
        return mtr.is_zero() ? estimate : mtr * 0.875 + estimate * 0.125;
    }

  private:
    bool raw_;
};

}  // namespace udtx::congestion
