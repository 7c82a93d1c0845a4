// Duplicates cost at most 5 % of the bytes: one share for copies of late bytes, a smaller one for probes. Each share is
// a bucket that fills with the bytes sent for the first time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace udtx::multipath {

class DuplicateBudget {
  public:
    static constexpr double kCopies = 0.04;
    static constexpr double kProbes = 0.01;
    /// Most bytes in a bucket. It bounds the duplicates after a long transfer without any.
    static constexpr double kDepth = 16.0 * 1024 * 1024;

    void on_new_bytes(std::uint64_t bytes) noexcept {
        copies_ = std::min(copies_ + kCopies * static_cast<double>(bytes), kDepth);
        probes_ = std::min(probes_ + kProbes * static_cast<double>(bytes), kDepth);
    }
    [[nodiscard]] bool allows_copy(std::uint64_t bytes) const noexcept { return static_cast<double>(bytes) <= copies_; }
    [[nodiscard]] bool allows_probe(std::uint64_t bytes) const noexcept {
        return static_cast<double>(bytes) <= probes_;
    }
    void on_copy(std::uint64_t bytes) noexcept { copies_ -= static_cast<double>(bytes); }
    void on_probe(std::uint64_t bytes) noexcept { probes_ -= static_cast<double>(bytes); }

  private:
    double copies_ = 0.0;
    double probes_ = 0.0;
};

}  // namespace udtx::multipath
