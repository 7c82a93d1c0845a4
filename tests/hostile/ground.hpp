// The directories that lies are about, and what they have to be afterwards.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

namespace udtx::hostile {

/// `target` is served; `outside` lies beside it, and nobody may touch it.
class Ground {
  public:
    explicit Ground(std::filesystem::path place) : place_(std::move(place)) {}
    /// As before each lie: target has keep and the link out, outside has canary.
    void prepare();
    /// What is not as it has to be; empty: all is well.
    [[nodiscard]] std::string harm() const;
    [[nodiscard]] bool has_honest_file() const;
    [[nodiscard]] std::filesystem::path target() const { return place_ / "target"; }

  private:
    std::filesystem::path place_;
};

}  // namespace udtx::hostile
