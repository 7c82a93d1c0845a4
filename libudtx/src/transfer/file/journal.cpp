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
#include <map>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::transfer {

namespace {

using wire::Writer;

constexpr std::size_t kCheckBytes = 8;
constexpr std::size_t kHeadBytes = 2 + kCheckBytes;  // length and check

// 5 is Done in version 1, with a time in nanoseconds.
enum class RecordType : std::uint8_t {
    header = 1,
    partial = 2,
    piece = 3,
    gone = 4,
    done_in_nanoseconds = 5,
    rights = 6,
    done = 7,
    shared_partial = 8
};

/// The check is seeded with the offset, so that a record copied to another place fails it.
std::uint64_t check_of(std::uint64_t offset, std::span<const std::byte> body) { return short_hash(body, offset); }

bool put_type(Writer& out, RecordType type) { return out.u8(static_cast<std::uint8_t>(type)); }
bool put_digest(Writer& out, const Digest& digest) {
    return out.varint(digest.bytes().size()) && out.bytes(digest.bytes());
}

bool put(Writer& out, const record::Header& r) {
    return put_type(out, RecordType::header) && out.varint(r.version) && out.u64(r.transfer) &&
           out.u8(static_cast<std::uint8_t>(r.hash));
}
bool put(Writer& out, const record::Partial& r) {
    if (r.shared == 0) return put_type(out, RecordType::partial) && out.varint(r.number) && put_path(out, r.path);
    return put_type(out, RecordType::shared_partial) && out.varint(r.number) && put_path(out, r.path) &&
           out.u64(r.shared);
}
bool put(Writer& out, const record::Rights& r) {
    return put_type(out, RecordType::rights) && put_path(out, r.path) && out.varint(r.mode) && out.u8(r.lent ? 1 : 0);
}
bool put(Writer& out, const record::Piece& r) {
    return put_type(out, RecordType::piece) && out.varint(r.number) && out.varint(r.piece.offset) &&
           out.varint(r.piece.length) && put_digest(out, r.piece.digest);
}
bool put(Writer& out, const record::Gone& r) { return put_type(out, RecordType::gone) && out.varint(r.number); }
bool put(Writer& out, const record::Done& r) {
    return put_type(out, RecordType::done) && out.u64(r.path_key) && out.varint(r.size) && put_time(out, r.mtime) &&
           put_digest(out, r.digest);
}

FileTime from_nanoseconds(std::int64_t ns) {
    std::int64_t seconds = ns / kNanosecondsInSecond;
    std::int64_t rest = ns % kNanosecondsInSecond;
    if (rest < 0) {
        rest += kNanosecondsInSecond;
        --seconds;
    }
    return {seconds, static_cast<std::uint32_t>(rest)};
}

std::optional<JournalRecord> parse_body(RecordType type, Fields& in) {
    switch (type) {
        case RecordType::header: {
            record::Header r;
            r.version = in.varint();
            r.transfer = in.u64();
            const auto hash = hash_algorithm_from(in.u8());
            in.require(hash.has_value());
            r.hash = hash.value_or(HashAlgorithm::xxh3_128);
            return r;
        }
        case RecordType::shared_partial:
        case RecordType::partial: {
            record::Partial r;
            r.number = in.varint();
            r.path = in.path();
            in.require(check_path(r.path).ok());
            if (type == RecordType::shared_partial) r.shared = in.u64();
            in.require((type == RecordType::shared_partial) == (r.shared != 0));
            return r;
        }
        case RecordType::piece: {
            record::Piece r;
            r.number = in.varint();
            r.piece.offset = in.varint();
            r.piece.length = in.varint();
            r.piece.digest = in.digest();
            return r;
        }
        case RecordType::gone:
            return record::Gone{in.varint()};
        case RecordType::rights: {
            record::Rights r;
            r.path = in.path();
            in.require(r.path.empty() || check_path(r.path).ok());
            r.mode = static_cast<std::uint32_t>(in.varint(07777));
            r.lent = in.u8(1) != 0;
            return r;
        }
        case RecordType::done_in_nanoseconds:
        case RecordType::done: {
            record::Done r;
            r.path_key = in.u64();
            r.size = in.varint();
            r.mtime = type == RecordType::done ? in.time() : from_nanoseconds(static_cast<std::int64_t>(in.u64()));
            r.digest = in.digest();
            return r;
        }
    }
    return std::nullopt;
}

/// Applies records in order to an image.
class Replay {
  public:
    explicit Replay(JournalImage& image) : image_(image) {}

    /// False: a receiver cannot have written this record.
    bool operator()(const record::Header& r) {
        image_.header = r;
        return !std::exchange(image_.has_header, true) && r.version > 0 && r.version <= kJournalVersion;
    }
    bool operator()(const record::Partial& r) {
        const std::string path = join_path(r.path);
        const std::uint64_t key = path_key(path);
        if (!image_.has_header || r.number < image_.next_number) return false;
        image_.next_number = r.number + 1;
        image_.partials[key] = {r.number, path, {}, r.shared};
        image_.done.erase(key);
        keys_[r.number] = key;
        return true;
    }
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
    JournalImage& image_;
    std::unordered_map<std::uint64_t, std::uint64_t> keys_;  // number -> path key
};

}  // namespace

void append_framed(std::vector<std::byte>& out, std::uint64_t offset, std::span<const std::byte> body) {
    std::array<std::byte, kHeadBytes> head{};
    wire::store_big_endian(head.data(), body.size(), 2);
    wire::store_big_endian(head.data() + 2, check_of(offset, body), kCheckBytes);
    out.insert(out.end(), head.begin(), head.end());
    out.insert(out.end(), body.begin(), body.end());
}

std::optional<std::span<const std::byte>> framed_at(std::span<const std::byte> bytes, std::uint64_t offset) {
    if (bytes.size() < kHeadBytes) return std::nullopt;
    const auto length = static_cast<std::size_t>(wire::load_big_endian(bytes.data(), 2));
    if (length > bytes.size() - kHeadBytes) return std::nullopt;
    const auto body = bytes.subspan(kHeadBytes, length);
    if (wire::load_big_endian(bytes.data() + 2, kCheckBytes) != check_of(offset, body)) return std::nullopt;
    return body;
}

std::size_t framed_bytes(std::span<const std::byte> body) noexcept { return kHeadBytes + body.size(); }

void append_record(std::vector<std::byte>& out, std::uint64_t offset, const JournalRecord& record) {
    std::array<std::byte, kMaxRecordBytes> body_bytes;
    Writer body(body_bytes);
    [[maybe_unused]] const bool fits = std::visit([&](const auto& r) { return put(body, r); }, record);
    assert(fits && "a record beyond its bounds");
    append_framed(out, offset, body.written());
}

Result<JournalRecord> parse_record(std::span<const std::byte> body) {
    Fields in(body);
    auto record = parse_body(static_cast<RecordType>(in.u8()), in);
    if (!record || !in.complete()) return Error{ErrorCode::malformed, "malformed journal record"};
    return std::move(*record);
}

std::uint64_t temp_number(const record::Header& header, std::string_view path) {
    if (header.version < 3) return header.transfer ^ path_key(path);
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update_u64(header.transfer);
    hasher.update(std::as_bytes(std::span(path)));
    return wire::load_big_endian(hasher.finish().bytes().data(), 8);
}

std::uint64_t shared_temp_number(std::uint64_t job, std::string_view path) {
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update(std::as_bytes(std::span("shared")));
    hasher.update_u64(job);
    hasher.update(std::as_bytes(std::span(path)));
    return std::max<std::uint64_t>(wire::load_big_endian(hasher.finish().bytes().data(), 8), 1);
}

JournalImage parse_journal(std::span<const std::byte> bytes) {
    JournalImage image;
    Replay replay(image);
    while (const auto body = framed_at(bytes.subspan(image.valid_bytes), image.valid_bytes)) {
        const auto record = parse_record(*body);
        if (!record || !std::visit(replay, *record)) break;
        image.valid_bytes += framed_bytes(*body);
    }
    return image;
}

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
