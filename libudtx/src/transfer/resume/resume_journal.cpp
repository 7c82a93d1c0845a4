#include "transfer/resume/resume_journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/file/own_file.hpp"
#include "transfer/file/owner_rights.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr auto kWaitForOwner = std::chrono::seconds(10);
// A process that has lost its sender ends soon: over ssh after 4 s.
constexpr auto kWaitForProcess = std::chrono::seconds(8);
constexpr int kMaxInterruptions = 16;

using Key = std::tuple<dev_t, ino_t, std::uint64_t>;

/// The jobs of this process that hold a journal.
struct Claims {
    std::mutex mutex;
    std::map<Key, std::function<void()>> owners;
};

Claims& claims() {
    static Claims all;
    return all;
}

}  // namespace

class ResumeJournal::Claim {
  public:
    /// Null while another job has the transfer; that job is asked to release it. `displaced` moves into the claim.
    static std::unique_ptr<Claim> take(const Key& key, std::function<void()>& displaced) {
        Claims& all = claims();
        const std::lock_guard lock(all.mutex);
        if (const auto owner = all.owners.find(key); owner != all.owners.end()) {
            if (owner->second) owner->second();
            return nullptr;
        }
        all.owners.emplace(key, std::move(displaced));
        return std::unique_ptr<Claim>(new Claim(key));
    }
    ~Claim() {
        const std::lock_guard lock(claims().mutex);
        claims().owners.erase(key_);
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

  private:
    explicit Claim(const Key& key) : key_(key) {}
    Key key_;
};

ResumeJournal::ResumeJournal(ConfinedDir root, std::uint64_t transfer, std::unique_ptr<Claim> claim)
    : root_(std::move(root)), transfer_(transfer), claim_(std::move(claim)) {}

ResumeJournal::~ResumeJournal() { flush(); }

ResumeJournal::Opening::Opening(ConfinedDir root, std::uint64_t transfer, HashAlgorithm hash,
                                std::function<void()> displaced)
    : root_(std::move(root)), transfer_(transfer), hash_(hash), displaced_(std::move(displaced)) {}

ResumeJournal::Opening::~Opening() = default;

std::optional<ResumeJournal::Opened> ResumeJournal::Opening::attempt() {
    const auto now = std::chrono::steady_clock::now();
    if (!since_) since_ = now;
    if (!journal_) {
        struct stat st = {};
        if (::fstat(root_->fd(), &st) != 0) return Opened{nullptr, io_error("cannot examine", ".", errno).message};
        auto claim = Claim::take({st.st_dev, st.st_ino, transfer_}, displaced_);
        if (!claim && now - *since_ < kWaitForOwner) return std::nullopt;
        if (!claim) {
            return Opened{nullptr, "the same transfer is still running here; a later run cannot continue this one"};
        }
        journal_.reset(new ResumeJournal(std::move(*root_), transfer_, std::move(claim)));
        since_ = now;
    }
    auto why = journal_->lock(now - *since_ < kWaitForProcess);
    if (!why) return std::nullopt;
    if (!why->empty()) return Opened{nullptr, std::move(*why)};
    std::string note = journal_->load(hash_);
    if (!journal_->unlocked_.empty()) note = journal_->unlocked_ + (note.empty() ? "" : "; " + note);
    return Opened{std::move(journal_), std::move(note)};
}

std::optional<std::string> ResumeJournal::lock(bool wait) {
    const std::string name = journal_name(transfer_);
    int error = 0;
    fd_ = open_own(root_, name, error);
    const bool linked = error == EMLINK;
    struct stat st = {};
    if (error != 0 && !linked) return "no resume: " + io_error("cannot use the journal", name, error).message;
    const auto try_lock = [this] { return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno; };
    int busy = try_lock();
    for (int tries = 0; busy == EINTR && tries < kMaxInterruptions; ++tries) busy = try_lock();
    if (busy != 0 && busy != EWOULDBLOCK) {
        // Nobody has it, but the disk has no locks: for example, a network file system without a lock service.
        unlocked_ = "this disk has no locks (" + std::generic_category().message(busy) +
                    "): resume works, but do not run the same transfer twice at the same time";
    }
    if (busy == 0 || !unlocked_.empty()) {
        if (linked) {
            // A copy of the directory by hard links has it too, or it is another file. That one stays as it is.
            relinked_ = true;
            if (::unlinkat(root_.fd(), name.c_str(), 0) == 0 || errno == ENOENT) return std::nullopt;
            return "no resume: " + io_error("cannot use the journal", name, EMLINK).message;
        }
        // The previous owner may have removed the file meanwhile.
        if (::fstat(fd_.get(), &st) == 0 && st.st_nlink > 0) return std::string();
    } else if (!wait) {
        return "no resume: another receiver runs the same transfer in this directory";
    }
    return std::nullopt;
}

std::string ResumeJournal::load(HashAlgorithm hash) {
    struct stat st = {};
    if (::fstat(fd_.get(), &st) != 0) st.st_size = 0;
    const auto size = static_cast<std::uint64_t>(st.st_size);
    std::string note;
    if (size > 0 && size <= kMaxJournalBytes) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(size));
        std::size_t count = 0;
        const int error = read_all_at(fd_.get(), bytes, 0, count);
        earlier_ = parse_journal(std::span(bytes).first(count));
        const bool usable = earlier_.has_header && earlier_.header.transfer == transfer_;
        if (error != 0) {
            note = "the journal of the earlier run cannot be read; everything is sent";
        } else if (!usable) {
            note = "the journal of the earlier run is damaged; everything is sent";
        } else if (earlier_.header.hash != hash) {
            note = "the earlier run used another checksum; everything is sent";
        } else if (earlier_.valid_bytes != size) {
            note = "the journal of the earlier run is damaged at byte " + std::to_string(earlier_.valid_bytes) +
                   " of " + std::to_string(size) + "; the data before it is used";
        }
        if (error != 0 || !usable || earlier_.header.hash != hash) earlier_ = {};
    } else if (size > 0) {
        note = "the journal of the earlier run is too large; everything is sent";
    } else if (relinked_) {
        note = "the journal of the earlier run has a second name, a hard link; everything is sent";
    }
    end_ = earlier_.valid_bytes;
    next_number_ = earlier_.next_number;
    done_ = earlier_.done.size();
    for (const auto& [key, partial] : earlier_.partials) {
        numbers_[partial.path] = partial.number;
        if (partial.shared != 0) shared_.insert(partial.path);
    }
    if (set_length(fd_.get(), static_cast<off_t>(end_)) != 0) broken_ = true;
    header_ = end_ == 0 ? record::Header{kJournalVersion, transfer_, hash} : earlier_.header;
    if (end_ == 0) add(header_);
    return note;
}

void ResumeJournal::add(const JournalRecord& record) {
    if (broken_ || end_ + kMaxRecordBytes > kMaxJournalBytes) return;
    const std::size_t before = pending_.size();
    append_record(pending_, end_, record);
    end_ += pending_.size() - before;
}

void ResumeJournal::begin_partial(const std::string& path, std::uint64_t shared) {
    const std::lock_guard lock(mutex_);
    const bool known = numbers_.contains(path) && shared_.contains(path) == (shared != 0);
    if (known) return;
    numbers_[path] = next_number_;
    if (shared != 0) shared_.insert(path);
    add(record::Partial{next_number_++, split_path(path), shared});
}

void ResumeJournal::add_pieces(const std::string& path, const std::vector<ProvenPiece>& pieces) {
    const std::lock_guard lock(mutex_);
    const auto at = numbers_.find(path);
    if (at == numbers_.end()) return;
    for (const ProvenPiece& piece : pieces) add(record::Piece{at->second, piece});
}

void ResumeJournal::add_done(const record::Done& done) {
    const std::lock_guard lock(mutex_);
    ++done_;
    add(done);
}

void ResumeJournal::add_gone(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto at = numbers_.find(path);
    if (at == numbers_.end()) return;
    add(record::Gone{at->second});
    numbers_.erase(at);
}

void ResumeJournal::add_rights(const std::string& directory, std::uint32_t mode, bool lent) {
    {
        const std::lock_guard lock(mutex_);
        add(record::Rights{split_path(directory), mode, lent});
    }
    if (lent) flush();
}

void ResumeJournal::flush() {
    const std::lock_guard lock(mutex_);
    if (pending_.empty() || broken_) return;
    // A short write leaves a torn record, where another run stops reading.
    broken_ = write_all_at(fd_.get(), pending_, end_ - pending_.size()) != 0;
    pending_.clear();
}

bool ResumeJournal::worth_keeping() const {
    const std::lock_guard lock(mutex_);
    return done_ > 0 || !numbers_.empty();
}

void ResumeJournal::remove() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    for (const auto& [path, number] : numbers_) {
        if (shared_.contains(path)) continue;
        const SplitName split = split_leaf(path);
        int ignored = 0;
        const UniqueFd directory = root_.open_directory(split.directory, ignored);
        if (directory) remove_from(directory.get(), temp_name(unique_for(path)));
    }
    remove_from(root_.fd(), journal_name(transfer_));
}

}  // namespace udtx::transfer
