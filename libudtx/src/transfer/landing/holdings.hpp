// Answers what the receiver has of a file that the sender might send, other shards' parts included.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/target_tree.hpp"
#include "transfer/shard/job_file.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

// Reads what other shards have filled of a file, to see whether another program changed it.

/// Offsets of the parts that are not as their shards wrote them. All are, if the file is missing. `temporary`: the path
/// of the file. `go_on` is called for each piece; false: stop. file_io: they cannot be read.
[[nodiscard]] Result<std::vector<std::uint64_t>> changed_parts(const ConfinedDir& root, const std::string& temporary,
                                                               HashAlgorithm hash,
                                                               const std::vector<JobFile::FilledPart>& parts,
                                                               const std::function<bool()>& go_on);

// Answers what the receiver has of a file that the sender might send: an existing file, or data that an earlier run
// left.

class Holdings {
  public:
    using Reply = OldContent::Reply;

    /// `tree` must outlive this object.
    explicit Holdings(TargetTree& tree) : tree_(tree) {}

    void answer(const message::Query& query, const Reply& reply);
    /// Reads one more piece of a file for an answer. False: nothing is left to read.
    bool go_on(const Reply& reply) { return tree_.old.go_on(reply); }

    /// True if the answer was that the file system treats this name and another one as the same.
    [[nodiscard]] bool fell_together(const std::string& path) const;
    /// True if one of the first answers was that the existing entry stays. A file that was sent along with its query is
    /// then dropped.
    [[nodiscard]] bool stays(const message::Entry& entry, const std::string& path) const;

  private:
    /// True if the name is free and what is in its way can be removed. Otherwise it reports the failure.
    [[nodiscard]] bool may_come(const message::Query& query, const std::string& path);
    /// True if the journal of an earlier run knows the file, and no file at its path makes that useless.
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
