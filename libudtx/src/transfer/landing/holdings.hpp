// What the receiver answers about a file that the sender might send: what of it stands there, or was left by an earlier
// run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "transfer/landing/target_tree.hpp"

namespace udtx::transfer {

class Holdings {
  public:
    using Reply = ReceiveResume::Reply;

    /// Outlives it.
    explicit Holdings(TargetTree& tree) : tree_(tree) {}

    void answer(const message::Query& query, const Reply& reply);
    /// A file is read for an answer, piece by piece: reads one. False: there is no more of it.
    bool go_on(const Reply& reply);

    /// It was answered that its name falls together with another one's.
    [[nodiscard]] bool fell_together(const std::string& path) const;
    /// One of the first answers was that what stands there stays: a file that came with the question is dropped.
    [[nodiscard]] bool stays(const message::Entry& entry, const std::string& path) const;

  private:
    /// Its name can be had, and what stands in its way can go; otherwise that was told.
    [[nodiscard]] bool may_come(const message::Query& query, const std::string& path);
    /// The journal of an earlier run knows the file, and what stands there does not make that idle.
    [[nodiscard]] bool is_journaled(const message::Query& query, const std::string& path);

    void note_stays(const message::Query& query, const std::string& path, Holding has);

    struct Stays {
        Holding has = Holding::same;
        std::uint64_t size = 0;
        FileTime mtime;
    };
    TargetTree& tree_;
    std::unordered_set<std::uint64_t> together_;      // by path key
    std::unordered_map<std::uint64_t, Stays> stays_;  // by path key
};

}  // namespace udtx::transfer
