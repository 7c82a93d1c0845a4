// What a receiver makes of the journal of an earlier run, and what it writes down for a later one. Writer thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/page_block.hpp"
#include "transfer/landing/piece_syncer.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "transfer/resume/resume_journal.hpp"

namespace udtx::transfer {

/// Pieces of a temporary file that are written and not yet on their way to the journal.
struct UnsyncedPieces {
    std::vector<ProvenPiece> pieces;
    std::uint64_t bytes = 0;
    bool journaled = false;  ///< there were others before
};

class ReceiveResume {
  public:
    /// Called with the bytes of each piece that was read and hashed; false: stop that.
    using Checked = std::function<bool(std::uint64_t bytes)>;
    using Reply = std::function<void(message::Answer)>;

    /// Both outlive it.
    ReceiveResume(const ConfinedDir& root, HashAlgorithm hash, ResumeJournal& journal, Checked checked);

    /// The journal has something to say about it.
    [[nodiscard]] bool knows(const std::string& path, const message::Query& query) const;
    /// Reads what the journal claims about the file from the disk, and answers with what is so.
    void answer(const message::Query& query, const Reply& reply);

    /// A temporary file of an earlier run stands there, to be continued.
    [[nodiscard]] bool has_partial(const std::string& path) const {
        return !partials_.empty() && partials_.count(path_key(path)) > 0;
    }
    /// It could not be continued after all.
    void forget_partial(const std::string& path) { partials_.erase(path_key(path)); }
    /// From an answer: the digest of a piece that is there.
    [[nodiscard]] std::optional<Digest> proven(const std::string& path, const Extent& piece) const;
    /// From an answer: the file stands under its final name with that size.
    [[nodiscard]] bool proven_file(const std::string& path, std::uint64_t size) const;
    [[nodiscard]] std::uint64_t unique_for(const std::string& path) const { return journal_.unique_for(path); }

    /// A piece was written into the temporary file.
    void wrote(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced, ProvenPiece piece);
    /// The file is given up for now: what is written shall be found by another run. False: there is nothing to find.
    bool leave(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced);
    /// The temporary file goes.
    void gone(const std::string& path) { journal_.add_gone(path); }
    void delivered(const record::Done& done) { journal_.add_done(done); }
    void flush_delivered() { journal_.flush(); }
    /// All is in the journal; the journal goes when `all_done` or when it says nothing.
    void close(bool all_done);

  private:
    struct Partial {
        std::string path;
        std::unordered_map<std::uint64_t, ProvenPiece> pieces;  // by offset: claimed, then proven
        bool proven = false;
    };
    void prove(Partial& partial, std::uint64_t number, const Reply& reply);
    [[nodiscard]] bool prove(const std::string& path, const record::Done& done);
    void submit(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced);

    const ConfinedDir& root_;
    HashAlgorithm hash_;
    ResumeJournal& journal_;
    Checked checked_;
    Hasher piece_hasher_;
    PageBlock block_;
    std::unordered_map<std::uint64_t, Partial> partials_;            // by path key
    std::unordered_map<std::uint64_t, std::uint64_t> proven_files_;  // size by path key
    PieceSyncer syncer_;
};

}  // namespace udtx::transfer
