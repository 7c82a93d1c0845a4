// Writes a receipt while a transfer runs, from the messages that announce its content. Both ends see the same messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/state_access.hpp"
#include "base/thread_safety.hpp"
#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/receipt/receipt.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::transfer {

/// Opens a kept file, which the receiver had before; none if that fails.
using OpenKept = std::function<UniqueFd(const std::string& path)>;

class ReceiptWriter {
  public:
    /// file_io: `path` cannot be written. The receipt gets that name only at finish().
    static Result<std::unique_ptr<ReceiptWriter>> create(std::string path);
    ReceiptWriter(const ReceiptWriter&) = delete;
    ReceiptWriter& operator=(const ReceiptWriter&) = delete;

    /// Claims the writer for one transfer. False: another transfer has it. Any thread.
    [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true); }
    /// Records OFFER, the messages that follow it in the sender's order, and FILE_FAILED and JOB of the receiver.
    /// Others are ignored. Any thread.
    void note(const Message& message);
    /// Call it after the confirmation. It hashes the kept files and gives the receipt its name.
    Result<void> finish(const OpenKept& open_kept);
    /// Removes the temporary file; for processes that end without destructors.
    void discard() noexcept { output_.discard(); }

  private:
    /// State that needs the hash algorithm, known from OFFER on.
    struct Hashes {
        explicit Hashes(HashAlgorithm algorithm) : hash(algorithm), all(algorithm), root(algorithm) {}
        HashAlgorithm hash;
        Hasher all;
        RootDigest root;
    };

    explicit ReceiptWriter(NewVersion file) : output_(std::move(file)) {}
    void announce(const std::vector<Extent>& extents) REQUIRES(mutex_);
    void begin_entry(const message::Entry& m) REQUIRES(mutex_);
    void add_digests(const message::Digests& m) REQUIRES(mutex_);
    void end_file(std::uint64_t index, const Digest& digest) REQUIRES(mutex_);
    /// Hashes the file's present content on the disk.
    Result<void> hash_kept(const ReceiptEntry& kept, int fd) REQUIRES(mutex_);
    void write(std::string_view line) REQUIRES(mutex_);
    void write_out() REQUIRES(mutex_);

    NewVersion output_;
    Mutex mutex_;
    std::optional<Hashes> hashes_ GUARDED_BY(mutex_);
    std::string buffer_ GUARDED_BY(mutex_);
    int error_ GUARDED_BY(mutex_) = 0;
    std::uint64_t written_ GUARDED_BY(mutex_) = 0;

    ReceiptEntry file_ GUARDED_BY(mutex_);            // the latest
    std::deque<Extent> unhashed_ GUARDED_BY(mutex_);  // extents of it that have no digest yet
    std::vector<ReceiptEntry> kept_
        GUARDED_BY(mutex_);  // files, or parts, that were not sent, since the receiver has their content
    std::vector<std::uint64_t> failed_ GUARDED_BY(mutex_);
    std::uint64_t run_ GUARDED_BY(mutex_) = 0;  // of the shard's job
    std::atomic<bool> claimed_{false};
};

/// The writer of a requested receipt; null: none is requested.
[[nodiscard]] inline ReceiptWriter* writer_of(const std::optional<ReceiptFile>& receipt) {
    return receipt ? StateAccess::of(*receipt).get() : nullptr;
}

}  // namespace udtx::transfer
