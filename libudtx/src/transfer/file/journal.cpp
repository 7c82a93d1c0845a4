#include "transfer/file/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/records.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::transfer {

namespace {

constexpr auto kMaxFileBytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// Applies records in order to an image.
class Replay {
  public:
    explicit Replay(JournalImage& image) : image_(image) {}

    /// False: a receiver cannot have written this record.
    bool operator()(const record::Header& r) {
        image_.header = r;
        return !std::exchange(image_.has_header, true) && r.version == kJournalVersion;
    }
    bool operator()(const record::Partial& r) { return begin(r.number, r.path, 0); }
    bool operator()(const record::SharedPartial& r) { return begin(r.number, r.path, r.shared); }
    bool operator()(const record::Piece& r) {
        const bool fits = r.piece.length > 0 && r.piece.length <= kMaxFileBytes - r.piece.offset &&
                          r.piece.digest.bytes().size() == digest_bytes(image_.header.hash);
        const auto key = keys_.find(r.number);
        if (!fits || key == keys_.end()) return false;
        const auto partial = image_.partials.find(key->second);
        // If the file is done or gone, the piece was still on its way to the journal.
        if (partial != image_.partials.end() && partial->second.number == r.number) {
            partial->second.pieces[r.piece.offset] = r.piece;
        }
        return true;
    }
    bool operator()(const record::Gone& r) {
        const auto key = keys_.find(r.number);
        if (key == keys_.end()) return false;
        const auto partial = image_.partials.find(key->second);
        if (partial != image_.partials.end() && partial->second.number == r.number) image_.partials.erase(partial);
        return true;
    }
    bool operator()(const record::Done& r) {
        if (!image_.has_header || r.digest.bytes().size() != digest_bytes(image_.header.hash)) return false;
        image_.partials.erase(r.path_key);
        image_.done[r.path_key] = r;
        return true;
    }
    bool operator()(const record::Rights& r) {
        if (!image_.has_header) return false;
        if (r.lent) {
            image_.rights[join_path(r.path)] = r.mode;
        } else {
            image_.rights.erase(join_path(r.path));
        }
        return true;
    }

  private:
    bool begin(std::uint64_t number, const std::vector<std::string>& components, std::uint64_t shared) {
        const std::string path = join_path(components);
        const std::uint64_t key = path_key(path);
        if (!image_.has_header || number < image_.next_number) return false;
        image_.next_number = number + 1;
        image_.partials[key] = {number, path, {}, shared};
        image_.done.erase(key);
        keys_[number] = key;
        return true;
    }

    JournalImage& image_;
    std::unordered_map<std::uint64_t, std::uint64_t> keys_;  // number -> path key
};

constexpr auto kWaitForOwner = std::chrono::seconds(10);
// A process that has lost its sender ends soon: over ssh after 4 s.
constexpr auto kWaitForProcess = std::chrono::seconds(8);
constexpr int kMaxInterruptions = 16;

using TransferKey = std::tuple<dev_t, ino_t, std::uint64_t>;

/// Takes the transfer for a job of this process. Null: another job has it; that job is asked to release it.
/// `displaced` moves into the claim, which ends when the pointer is destroyed.
std::shared_ptr<void> claim_transfer(const TransferKey& key, std::function<void()>& displaced) {
    struct Owners {
        Mutex mutex;
        std::map<TransferKey, std::function<void()>> displaced GUARDED_BY(mutex);
    };
    static Owners owners;
    const Lock lock(owners.mutex);
    if (const auto owner = owners.displaced.find(key); owner != owners.displaced.end()) {
        if (owner->second) owner->second();
        return nullptr;
    }
    owners.displaced.emplace(key, std::move(displaced));
    return {&owners, [key](Owners* all) {
                const Lock guard(all->mutex);
                all->displaced.erase(key);
            }};
}

/// Returns 0 or an errno.
int try_lock(int fd) {
    int error = EINTR;
    for (int tries = 0; error == EINTR && tries < kMaxInterruptions; ++tries) {
        error = ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    }
    return error;
}

}  // namespace

std::uint64_t temp_number(std::uint64_t transfer, std::string_view path) {
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update_u64(transfer);
    hasher.update(std::as_bytes(std::span(path)));
    return wire::load_big_endian(hasher.finish().bytes().data(), 8);
}

JournalImage parse_journal(std::span<const std::byte> bytes) {
    JournalImage image;
    image.valid_bytes = read_records<JournalRecord>(bytes, 0, Replay(image));
    return image;
}

ResumeJournal::ResumeJournal(ConfinedDir root, std::uint64_t transfer, std::shared_ptr<void> claim, UniqueFd fd)
    : root_(std::move(root)), transfer_(transfer), claim_(std::move(claim)), fd_(std::move(fd)) {}

ResumeJournal::~ResumeJournal() { flush(); }

ResumeJournal::Opening::Opening(ConfinedDir root, std::uint64_t transfer, HashAlgorithm hash,
                                std::function<void()> displaced)
    : root_(std::move(root)), transfer_(transfer), hash_(hash), displaced_(std::move(displaced)) {}

std::optional<ResumeJournal::Opened> ResumeJournal::Opening::attempt() {
    const auto now = std::chrono::steady_clock::now();
    if (!since_) since_ = now;
    struct stat st = {};
    if (!claim_) {
        if (::fstat(root_.fd(), &st) != 0) return Opened{nullptr, io_error("cannot examine", ".", errno).message};
        claim_ = claim_transfer({st.st_dev, st.st_ino, transfer_}, displaced_);
        if (!claim_ && now - *since_ < kWaitForOwner) return std::nullopt;
        if (!claim_) {
            return Opened{nullptr, "the same transfer is still running here; a later run cannot continue this one"};
        }
        since_ = now;
    }
    const std::string name = journal_name(transfer_);
    const auto unusable = [&](int error) {
        return Opened{nullptr, "no resume: " + io_error("cannot use the journal", name, error).message};
    };
    int error = 0;
    UniqueFd fd = open_own(root_, name, error);
    const bool linked = error == EMLINK;
    if (error != 0 && !linked) return unusable(error);
    const int busy = try_lock(fd.get());
    if (busy == EWOULDBLOCK) {
        if (now - *since_ < kWaitForProcess) return std::nullopt;
        return Opened{nullptr, "no resume: another receiver runs the same transfer in this directory"};
    }
    if (linked) {
        // A copy of the directory by hard links has it too, or it is another file. That one stays as it is.
        relinked_ = true;
        if (::unlinkat(root_.fd(), name.c_str(), 0) != 0 && errno != ENOENT) return unusable(EMLINK);
        return std::nullopt;
    }
    // The previous owner may have removed the file meanwhile.
    if (::fstat(fd.get(), &st) != 0 || st.st_nlink == 0) return std::nullopt;
    Opened out;
    out.journal.reset(new ResumeJournal(std::move(root_), transfer_, std::move(claim_), std::move(fd)));
    out.note = out.journal->load(hash_, relinked_);
    if (busy != 0) {
        // Nobody has it, but the disk has no locks: for example, a network file system without a lock service.
        out.note = "this disk has no locks (" + std::generic_category().message(busy) +
                   "): resume works, but do not run the same transfer twice at the same time" +
                   (out.note.empty() ? "" : "; " + out.note);
    }
    return out;
}

std::string ResumeJournal::load(HashAlgorithm hash, bool relinked) {
    const Lock lock(mutex_);
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
    } else if (relinked) {
        note = "the journal of the earlier run has a second name, a hard link; everything is sent";
    }
    end_ = earlier_.valid_bytes;
    next_number_ = earlier_.next_number;
    done_ = earlier_.done.size();
    for (const auto& [key, partial] : earlier_.partials) listed_[partial.path] = {partial.number, partial.shared != 0};
    if (set_length(fd_.get(), static_cast<off_t>(end_)) != 0) broken_ = true;
    if (end_ == 0) add(record::Header{kJournalVersion, transfer_, hash});
    return note;
}

void ResumeJournal::add(const JournalRecord& record) {
    if (broken_ || end_ + kMaxRecordBytes > kMaxJournalBytes) return;
    const std::size_t before = pending_.size();
    append_record(pending_, end_, record);
    end_ += pending_.size() - before;
}

void ResumeJournal::begin_partial(const std::string& path, std::uint64_t shared) {
    const Lock lock(mutex_);
    const auto at = listed_.find(path);
    if (at != listed_.end() && at->second.shared == (shared != 0)) return;
    const std::uint64_t number = next_number_++;
    listed_[path] = {number, shared != 0};
    if (shared == 0) {
        add(record::Partial{number, split_path(path)});
    } else {
        add(record::SharedPartial{number, split_path(path), shared});
    }
}

void ResumeJournal::add_pieces(const std::string& path, const std::vector<ProvenPiece>& pieces) {
    const Lock lock(mutex_);
    const auto at = listed_.find(path);
    if (at == listed_.end()) return;
    for (const ProvenPiece& piece : pieces) add(record::Piece{at->second.number, piece});
}

void ResumeJournal::add_done(const record::Done& done) {
    const Lock lock(mutex_);
    ++done_;
    add(done);
}

void ResumeJournal::add_gone(const std::string& path) {
    const Lock lock(mutex_);
    const auto at = listed_.find(path);
    if (at == listed_.end()) return;
    add(record::Gone{at->second.number});
    listed_.erase(at);
}

void ResumeJournal::add_rights(const std::string& directory, std::uint32_t mode, bool lent) {
    {
        const Lock lock(mutex_);
        add(record::Rights{split_path(directory), mode, lent});
    }
    if (lent) flush();
}

void ResumeJournal::flush() {
    const Lock lock(mutex_);
    if (pending_.empty() || broken_) return;
    // A short write leaves a torn record, where another run stops reading.
    broken_ = write_all_at(fd_.get(), pending_, end_ - pending_.size()) != 0;
    pending_.clear();
}

bool ResumeJournal::worth_keeping() const {
    const Lock lock(mutex_);
    return done_ > 0 || !listed_.empty();
}

void ResumeJournal::remove() {
    const Lock lock(mutex_);
    broken_ = true;
    for (const auto& [path, listed] : listed_) {
        if (listed.shared) continue;
        const SplitName split = split_leaf(path);
        const UniqueFd directory = root_.open_directory(split.directory).fd;
        if (directory) remove_from(directory.get(), temp_name(unique_for(path)));
    }
    remove_from(root_.fd(), journal_name(transfer_));
}

std::uint64_t transfer_number(const std::string& host, const std::string& working_directory,
                              const std::vector<std::string>& sources, const std::string& destination) {
    // No name contains NUL, so names that it joins stay distinct.
    std::string all = host + '\0' + join_path(split_path(destination));
    for (const std::string& source : sources) {
        all += '\0';
        all += (std::filesystem::path(working_directory) / source).lexically_normal().string();
    }
    return std::max<std::uint64_t>(path_key(all), 1);
}

std::uint64_t transfer_number(const std::vector<std::string>& sources, const std::string& destination) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    std::error_code ignored;
    return transfer_number(host.data(), std::filesystem::current_path(ignored).string(), sources, destination);
}

}  // namespace udtx::transfer
