// What a receiver makes of the journal of an earlier run, and what it writes down for a later one. For the
// writer's task.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "transfer/file_digest.hpp"
#include "transfer/landing/piece_syncer.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "transfer/pieces/piece_hasher.hpp"
#include "transfer/resume/job_file.hpp"
#include "transfer/resume/resume_journal.hpp"

namespace udtx::transfer {

/// Pieces of a temporary file that are written and not yet on their way to the journal.
struct UnsyncedPieces {
    std::vector<ProvenPiece> pieces;
    std::uint64_t bytes = 0;
    bool journaled = false;    ///< there were others before
    std::uint64_t shared = 0;  ///< as record::Partial
};

class ReceiveResume {
  public:
    /// Called with the bytes of each piece that was read and hashed; false: stop that.
    using Checked = std::function<bool(std::uint64_t bytes)>;
    using Reply = std::function<void(message::Answer)>;

    /// All outlive it. `job`: of a shard, or null.
    ReceiveResume(const ConfinedDir& root, HashAlgorithm hash, ResumeJournal& journal, JobFile* job, Checked checked);

    /// The journal has something to say about it.
    [[nodiscard]] bool knows(const std::string& path, const message::Query& query);
    /// It has been delivered.
    [[nodiscard]] bool knows_whole(const std::string& path, const message::Query& query) const;
    /// Begins to read what the journal claims about the file from the disk; go_on() answers with what is so.
    void answer(const message::Query& query, const Reply& reply);
    /// Reads one more piece for the latest answer. False: there was nothing to do.
    bool go_on(const Reply& reply);

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
        std::uint64_t shared = 0;
        bool proven = false;
    };
    /// A temporary file that is being read for an answer ...
    struct ProvingPieces {
        Partial* partial = nullptr;
        UniqueFd fd;
        std::vector<ProvenPiece> claimed{};
        std::size_t next = 0;
        message::Answer out{};
    };
    /// ... or a file under its final name.
    struct ProvingFile {
        std::uint64_t key = 0;
        std::uint64_t number = 0;
        const record::Done& done;
        UniqueFd fd;
        FileDigest digest;
        std::uint64_t offset = 0;
        bool whole = false;  // so far
    };
    /// Of a part of a file: adds what the job's file says of it.
    void learn_claims(const message::Query& query, const std::string& path);
    void begin(Partial& partial, std::uint64_t number);
    void prove_piece(const Reply& reply);
    void prove_block(const Reply& reply);
    void submit(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced);

    const ConfinedDir& root_;
    HashAlgorithm hash_;
    ResumeJournal& journal_;
    JobFile* job_;
    Checked checked_;
    PieceHasher hasher_;
    std::unordered_map<std::uint64_t, Partial> partials_;            // by path key
    std::unordered_map<std::uint64_t, std::uint64_t> proven_files_;  // size by path key
    std::optional<ProvingPieces> proving_pieces_;
    std::optional<ProvingFile> proving_file_;
    PieceSyncer syncer_;
};

}  // namespace udtx::transfer
