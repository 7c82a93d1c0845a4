// The paths of a connection by id. The first one is that of the handshake.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "proto/path_context.hpp"
#include "udtx/ids.hpp"
#include "udtx/stats.hpp"

namespace udtx::proto {

/// Ids are used once: a number that a path has sent must never be sealed again, and one that it received never be
/// opened.
class PathSet {
  public:
    explicit PathSet(std::unique_ptr<PathContext> first) { (void)add(std::move(first)); }

    PathContext& add(std::unique_ptr<PathContext> path);
    /// Removes the path and keeps its statistics. Not for the last path.
    void close(PathId id, PathStats figures);

    /// Null if no such path is open.
    [[nodiscard]] PathContext* find(PathId id) noexcept {
        for (const auto& path : open_) {
            if (path->id == id) return path.get();
        }
        return nullptr;
    }
    void mark_used(PathId id) noexcept { used_.set(id.value); }
    [[nodiscard]] bool was_used(PathId id) const noexcept { return used_[id.value]; }
    /// The lowest id that was never used.
    [[nodiscard]] std::optional<PathId> unused_id() const noexcept;
    /// The oldest open path. There is always one.
    [[nodiscard]] PathContext& first() noexcept { return *open_.front(); }
    [[nodiscard]] const PathContext& first() const noexcept { return *open_.front(); }
    /// Open paths, in the order in which they were opened.
    [[nodiscard]] std::span<const std::unique_ptr<PathContext>> all() const noexcept { return open_; }
    [[nodiscard]] bool single() const noexcept { return open_.size() == 1; }
    [[nodiscard]] std::size_t count() const noexcept { return open_.size(); }
    [[nodiscard]] std::span<const PathStats> closed() const noexcept { return closed_; }

    /// The path for frames that belong to no path. It prefers active paths, then working ones, then those that are not
    /// standby, and then the lowest round-trip time. Among equals it is the first one.
    [[nodiscard]] PathContext& best() noexcept;
    /// A path other than `path` works.
    [[nodiscard]] bool another_works(const PathContext& path) const noexcept;
    [[nodiscard]] static bool works(const PathContext& path) noexcept;
    /// The path is silent for so long that another one should take over.
    [[nodiscard]] static bool silent(const PathContext& path, Instant now) noexcept;

  private:
    std::vector<std::unique_ptr<PathContext>> open_;
    std::vector<PathStats> closed_;
    std::bitset<256> used_;
};

/// Probe timeouts in a row after which a path counts as silent (UDT's EXP event).
inline constexpr std::uint32_t kSilentProbes = 2;
/// A silent path has also received nothing for this long. On a short path, two probe timeouts pass before a busy peer
/// wakes up.
inline constexpr Duration kLeastSilence = std::chrono::milliseconds(100);

}  // namespace udtx::proto
