// Writes a received tree below one directory. For one task. It is independent of connections.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "transfer/checksum.hpp"
#include "transfer/landing/hard_links.hpp"
#include "transfer/landing/holdings.hpp"
#include "transfer/landing/incoming_files.hpp"
#include "transfer/landing/made_directories.hpp"
#include "transfer/landing/target_tree.hpp"

namespace udtx::transfer {

/// Order of calls: begin_entry() for each entry, in order. Pieces, digests and end_file() of a file follow its entry,
/// in any order. At the end finish() until it is done, or abandon().
class TreeWriter {
  public:
    TreeWriter(ConfinedDir root, TreeWriterOptions options, Report& report);
    ~TreeWriter();

    void begin_entry(const message::Entry& entry);
    void write_piece(const WholePiece& piece) { files_.write_piece(piece); }
    /// Bytes of pieces that were written, without those of files that were begun but turned out to exist.
    [[nodiscard]] std::uint64_t written() const noexcept { return files_.written(); }
    void check_digests(const message::Digests& digests) { files_.check_digests(digests); }
    /// Bytes of the next piece of a file that may not fit in the quota, if a look at the disk could find room for them.
    /// Complete files have their names by then. 0: no look is needed.
    [[nodiscard]] std::uint64_t missing_in_quota(std::uint64_t index, std::uint64_t piece) {
        return files_.missing_in_quota(index, piece);
    }
    /// Answers what exists of a file. Call it before the file's entry.
    void answer(const message::Query& query, const Holdings::Reply& reply) { holdings_.answer(query, reply); }
    /// Reads one more piece of a file for an answer. False: nothing is left to read.
    bool go_on_answering(const Holdings::Reply& reply) { return holdings_.go_on(reply); }
    /// Stores names that the sender has but does not send, for the end.
    void note_unsent(const message::Unsent& unsent);
    /// Sets owner and attributes of the latest entry.
    void set_meta(const message::Meta& meta);
    /// Stores for the end what must not be deleted.
    void add_rules(const message::Rules& rules);
    /// Takes pieces that are not sent because an answer reported them. The first of them has the ordinal
    /// `first_ordinal`.
    void keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal) {
        files_.keep_pieces(index, extent, first_ordinal);
    }
    /// Makes a hole: a part of the file without data.
    void make_hole(std::uint64_t index, const Extent& extent) { files_.make_hole(index, extent); }
    /// `pieces`: the number of pieces that the file was announced with.
    void end_file(const message::FileEnd& end, std::uint64_t pieces);
    /// Each call does a part of the end: incomplete files fail, and everything complete becomes durable. Hard links are
    /// made. What the sender does not have is deleted, if that is wanted and `all_well` allows it. Directories get
    /// their mode and time. The last call returns the root digest of what the sender declared complete. `settled` gets
    /// that digest as soon as only the root's own mode and time are left.
    [[nodiscard]] std::optional<Digest> finish(
        const std::function<bool()>& all_well,
        const std::function<void(const Digest&)>& settled = [](const Digest&) {});
    /// Commits what is complete. Removes the other temporary files, except those that another run can continue.
    void abandon() noexcept;

    /// Bytes of memory that the sender makes us hold.
    [[nodiscard]] std::uint64_t held() const {
        return tree_.held() + files_.held() + directories_.held() + links_.held();
    }
    /// The path of an entry under construction, for progress. Empty: it is not under construction.
    [[nodiscard]] std::string path_of(std::uint64_t index) const { return files_.path_of(index); }

  private:
    /// The step of the end that finish() is in.
    enum class Ending : std::uint8_t { files, shared, links, durable, erasing, rest };
    /// The latest entry, if it has its final name already.
    struct Standing {
        EntryType type = EntryType::file;
        std::string path;
        bool unchanged = false;  ///< a directory that was reported as unchanged
    };
    void make_symlink(const message::Entry& entry, const std::string& path);
    /// Sets owner and attributes of an entry that has its final name.
    void update_meta(const message::Meta& meta, Standing& entry);

    TargetTree tree_;
    Holdings holdings_;
    IncomingFiles files_;
    MadeDirectories directories_;
    HardLinks links_;
    RootDigest root_digest_;
    std::optional<Standing> standing_;
    std::uint64_t latest_index_ = 0;
    Ending ending_ = Ending::files;
};

}  // namespace udtx::transfer
