// The directories that the lies aim at, and a check of their state afterwards.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

namespace udtx::hostile {

/// The server serves `target`. `outside` is next to it and must stay unchanged.
class Ground {
  public:
    explicit Ground(std::filesystem::path place) : place_(std::move(place)) {}
    /// Restores the state before each lie: target has keep and the link out, outside has canary.
    void prepare();
    /// Describes what is wrong in the directories; empty if everything is as it must be.
    [[nodiscard]] std::string harm() const;
    [[nodiscard]] bool has_honest_file() const;
    [[nodiscard]] std::filesystem::path target() const { return place_ / "target"; }

  private:
    std::filesystem::path place_;
};

}  // namespace udtx::hostile
