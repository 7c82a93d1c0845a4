// Writes a received tree below one directory. For one task; knows nothing of connections.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "transfer/file_digest.hpp"
#include "transfer/landing/hard_links.hpp"
#include "transfer/landing/holdings.hpp"
#include "transfer/landing/incoming_files.hpp"
#include "transfer/landing/made_directories.hpp"
#include "transfer/landing/target_tree.hpp"

namespace udtx::transfer {

/// Order of calls: begin_entry() for each entry in order; pieces, digests and end_file() of a file in any order after
/// it; then finish() until it is done, or abandon().
class TreeWriter {
  public:
    TreeWriter(ConfinedDir root, TreeWriterOptions options, TreeWriterCallbacks callbacks);
    ~TreeWriter();

    void begin_entry(const message::Entry& entry);
    void write_piece(const WholePiece& piece) { files_.write_piece(piece); }
    /// Bytes of pieces that were written, but for those of files that were begun and turned out to be there.
    [[nodiscard]] std::uint64_t written() const noexcept { return files_.written(); }
    void check_digests(const message::Digests& digests) { files_.check_digests(digests); }
    /// So many bytes may be missing in the quota for the next piece of a file, and a look at the disk would tell: what
    /// is complete has its name now. 0: there is nothing to find out.
    [[nodiscard]] std::uint64_t missing_in_quota(std::uint64_t index, std::uint64_t piece) {
        return files_.missing_in_quota(index, piece);
    }
    /// What there is of a file. Before its entry.
    void answer(const message::Query& query, const Holdings::Reply& reply) { holdings_.answer(query, reply); }
    /// A file is read for an answer, piece by piece: reads one. False: there is no more of it.
    bool go_on_answering(const Holdings::Reply& reply) { return holdings_.go_on(reply); }
    /// For the end: names that the sender has and does not send.
    void note_unsent(const message::Unsent& unsent);
    /// Of the latest entry.
    void set_meta(const message::Meta& meta);
    /// For the end: what is not to be deleted.
    void add_rules(const message::Rules& rules);
    /// Pieces that are not sent since an answer had them; the first has that ordinal.
    void keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal) {
        files_.keep_pieces(index, extent, first_ordinal);
    }
    /// A part of the file without data.
    void make_hole(std::uint64_t index, const Extent& extent) { files_.make_hole(index, extent); }
    /// `pieces`: how many the file was announced with.
    void end_file(const message::FileEnd& end, std::uint64_t pieces);
    /// Waits until everything complete is durable; files that are not complete fail. Hard links are made; what the
    /// sender does not have goes, if it is to and if `all_well` says so then. Directories get their mode and time. Each
    /// call does a part of that; the last one gives the root digest of what the sender declared whole. `settled` hears
    /// of that when nothing but the root's own mode and time is left to be set.
    [[nodiscard]] std::optional<Digest> finish(
        const std::function<bool()>& all_well,
        const std::function<void(const Digest&)>& settled = [](const Digest&) {});
    /// Commits what is complete. Of the rest the temporary files go, but for those that another run can continue.
    void abandon() noexcept;

    /// Memory that the sender made us remember.
    [[nodiscard]] std::uint64_t held() const {
        return tree_.held() + files_.held() + directories_.held() + links_.held();
    }
    /// The path of an entry that is under construction, for progress; empty if it is not.
    [[nodiscard]] std::string path_of(std::uint64_t index) const { return files_.path_of(index); }

  private:
    /// What finish() is at.
    enum class Ending : std::uint8_t { files, links, durable, erasing, rest };
    /// The latest entry, if it stands under its name already.
    struct Standing {
        EntryType type = EntryType::file;
        std::string path;
    };
    void make_symlink(const message::Entry& entry, const std::string& path);
    /// Owner and attributes of what stands under its name.
    void update_meta(const message::Meta& meta, const Standing& entry);

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
