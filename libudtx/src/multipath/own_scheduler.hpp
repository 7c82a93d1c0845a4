// Wraps a scheduler of the program. Errors name it: exceptions that it throws, and answers that cannot be followed.
#pragma once

#include <memory>
#include <utility>

#include "udtx/scheduler.hpp"

namespace udtx::multipath {

class OwnScheduler final : public PathScheduler {
  public:
    explicit OwnScheduler(std::unique_ptr<PathScheduler> inner) : inner_(std::move(inner)) {}
    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) override;
    [[nodiscard]] bool blocked(PathId path) const override;

  private:
    std::unique_ptr<PathScheduler> inner_;
};

}  // namespace udtx::multipath
