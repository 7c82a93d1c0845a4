#include "transfer/source/outgoing.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <system_error>

#include "transfer/file/file_io.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kMaxControlBytes = 32U << 10U;

/// True if it has special bits that the receiver is not to set.
bool loses_bits(const ScannedEntry& entry, bool owners) {
    if (entry.type == EntryType::directory) return mode_bits::of_directory(entry.mode, false, owners) != entry.mode;
    return entry.type == EntryType::file && (entry.mode & mode_bits::kSpecial) != 0;
}

}  // namespace

void OutgoingPacker::message(const Message& message) {
    if (control_.bytes().size() >= kMaxControlBytes) flush();
    if (receipt_ != nullptr) receipt_->note(message);
    control_.put(message);
}

std::span<std::byte> OutgoingPacker::space() {
    if (used_ == OutgoingQueue::kBlockBytes) flush();
    if (used_ == chunk_.size()) {
        chunk_ = queue_.block();
        begin_ = used_ = 0;
    }
    return chunk_.writable().subspan(used_);
}

bool OutgoingPacker::flush() {
    if (pending() == 0 || stopped_) return !stopped_;
    Outgoing item;
    item.control.assign(control_.bytes().begin(), control_.bytes().end());
    control_.clear();
    // The next data follows in the same block, so that a few bytes do not occupy a block of their own.
    if (used_ > begin_) item.data = chunk_.part(begin_, used_ - begin_);
    begin_ = used_;
    const std::size_t cost = item.control.size() + item.data.size() + sizeof(Outgoing);
    push(std::move(item), cost);
    return !stopped_;
}

void OutgoingPacker::finish(const message::Finish& finish) {
    flush();
    MessageWriter last;
    last.put(finish);
    push({.control = {last.bytes().begin(), last.bytes().end()}, .data = {}, .finish = finish}, 0);
}

void OutgoingPacker::push(Outgoing item, std::size_t cost) {
    stopped_ = !queue_.push(std::move(item), cost);
    waker_.wake();
}

std::uint64_t Announcer::announce(message::Entry m, const std::string& path) {
    m.index = next_index_++;
    m.path = split_path(path);
    packer_.message(std::move(m));
    return next_index_ - 1;
}

void Announcer::announce(const ScannedEntry& entry) {
    message::Entry m;
    m.type = entry.type;
    m.mode = entry.mode;
    m.mtime = entry.mtime;
    m.target = entry.target;
    announce(std::move(m), entry.path);
}

void Announcer::announce_unread(const ScannedEntry& entry) {
    announce(entry);
    if (entry.type == EntryType::directory && tells_meta()) send_meta_of(entry);
}

void Announcer::send_meta_of(const ScannedEntry& entry) {
    const int flags = entry.type == EntryType::directory ? O_RDONLY | O_DIRECTORY : O_RDONLY;
    auto [fd, error] = roots_[entry.root].directory.open_at(entry.path, flags);
    send_meta(entry, fd.get(), Others::go, error);
}

void Announcer::announce_top() {
    const auto source = std::ranges::find_if(roots_, [](const SourceRoot& root) { return root.leaf.empty(); });
    struct stat st = {};
    if (source == roots_.end() || ::fstat(source->directory.fd(), &st) != 0) return;
    ScannedEntry entry;
    entry.root = static_cast<std::size_t>(source - roots_.begin());
    entry.type = EntryType::directory;
    const ModeWithoutList limited =
        mode_without_list(source->directory.fd(), static_cast<std::uint32_t>(st.st_mode) & mode_bits::kAll);
    entry.mode = limited.mode;
    note_limited(entry, limited.error_number);
    entry.mtime = mtime_of(st);
    entry.user = st.st_uid;
    entry.group = st.st_gid;
    announce_unread(entry);
}

void Announcer::announce_kept(const ScannedEntry& entry) {
    message::Entry m;
    m.mode = entry.mode;
    m.mtime = entry.mtime;
    m.size = entry.size;
    m.part = entry.part;
    packer_.message(message::FileEnd{announce(std::move(m), entry.path), FileStatus::kept, {}});
    if (tells_meta()) send_meta_of(entry);
}

void Announcer::announce_unreadable(const ScannedEntry& entry, FileStatus why, int error_number) {
    message::Entry m;
    m.whole = true;
    packer_.message(message::FileEnd{.index = announce(std::move(m), entry.path),
                                     .status = why,
                                     .digest = {},
                                     .error = static_cast<std::uint64_t>(error_number)});
}

void Announcer::send_meta(const ScannedEntry& entry, int fd, Others others, int open_error) {
    message::Meta m;
    m.index = next_index_ - 1;
    m.has_owner = what_.owner;
    m.has_attributes = what_.attributes;
    m.user = entry.user;
    m.group = entry.group;
    if (what_.attributes) {
        OtherAttributes others_of;
        const AttributesLeft left =
            open_error != 0 ? AttributesLeft{false, open_error} : read_attributes(fd, m.attributes, &others_of);
        // A kept file may have META twice.
        if (std::exchange(reported_, m.index) != m.index) {
            if (others_of.capability) capabilities_.add(entry.path);
            if (others_of.access_list) access_lists_.add(entry.path);
            note_lost(entry, left);
        }
        m.has_attributes = left.none();
    }
    const bool news = !m.attributes.empty() || (what_.attributes && others == Others::go);
    if (m.has_owner || news) packer_.message(std::move(m));
}

void Announcer::note_limited(const ScannedEntry& entry, int error_number) {
    if (error_number == 0) return;
    const bool directory = entry.type == EntryType::directory;
    report_.lacks(
        {.what = Belonging::mode,
         .files = directory ? 0U : 1U,
         .directories = directory ? 1U : 0U,
         .first = entry.path.empty() ? "." : entry.path,
         .reason = "its access control list cannot be read: " + std::generic_category().message(error_number)});
}

void Announcer::note_lost(const ScannedEntry& entry, const AttributesLeft& left) {
    if (left.none()) return;
    const bool directory = entry.type == EntryType::directory;
    report_.lacks({.what = Belonging::attributes,
                   .files = directory ? 0U : 1U,
                   .directories = directory ? 1U : 0U,
                   .first = entry.path.empty() ? "." : entry.path,
                   .reason = left.error_number != 0
                                 ? "cannot be read: " + std::generic_category().message(left.error_number)
                                 : "too many or too large: of one entry " + std::to_string(kMaxAttributes) + " of " +
                                       std::to_string(kMaxAttributeBytes) + " bytes together are sent"});
}

void Announcer::add_belongings(const ScannedEntry& entry, message::Query& query) {
    const bool directory = entry.type == EntryType::directory;
    if (!directory && entry.type != EntryType::file) return;
    query.has_owner = what_.owner;
    query.user = entry.user;
    query.group = entry.group;
    if (!what_.attributes) return;
    auto [fd, error] = roots_[entry.root].directory.open_at(entry.path, directory ? O_RDONLY | O_DIRECTORY : O_RDONLY);
    std::vector<message::Attribute> attributes;
    const AttributesLeft left = fd ? read_attributes(fd.get(), attributes) : AttributesLeft{false, error};
    if (fd) note_lost(entry, left);
    query.has_attributes = left.none();
    query.attributes = attributes_key(std::move(attributes));
}

void Announcer::tell_left_out() {
    warn_of(special_bits_, "set-user-ID, set-group-ID and sticky bits are kept only with --set-id");
    warn_of(capabilities_, "capabilities are never kept");
    warn_of(access_lists_, "access control lists are never kept");
    if (grown_.count > 0) {
        report_.warn(counted(grown_.count, "file", "files") +
                     " grew while being read, and came with the length of the start, first '" +
                     escape_name(grown_.first) + "'");
    }
    const Outcome outcome = report_.outcome();
    for (const Unset& unset : outcome.unset) packer_.message(message::Unset{unset});
    // No entry named these: the receiver would only know their number.
    const std::vector<std::string> reasons = report_.reasons_unannounced();
    for (const std::string& reason : reasons) packer_.message(message::Note{reason});
    if (!run_.asked_for) return;
    std::vector<std::string> texts = outcome.warnings;
    std::erase_if(texts, [](const std::string& text) { return text.starts_with("receiver: "); });
    // A receiver's limit of messages counts both kinds.
    const std::size_t room = kMaxNotes - std::min(kMaxNotes, outcome.unset.size() + reasons.size());
    if (texts.size() > room) texts.resize(room);
    for (std::string& text : texts) packer_.message(message::Note{std::move(text)});
}

void Announcer::warn_of(const CountedPaths& left, const char* what) const {
    if (left.count == 0) return;
    report_.warn(what + (": " + counted(left.count, "entry has", "entries have")) + " one, first '" +
                 escape_name(left.first) + "'");
}

void count_planned(const PlannedEntry& entry, Progress& progress, Outcome& outcome) {
    using Kind = PlannedEntry::Kind;
    const bool hard_link = entry.type == EntryType::hard_link;
    const bool directory = entry.type == EntryType::directory;
    const bool stays = entry.kind == Kind::unchanged && entry.changes == 0;
    if (directory && entry.kind != Kind::skip) ++(stays ? outcome.unchanged_directories : outcome.directories);
    if (entry.kind == Kind::make && entry.type == EntryType::symlink) ++outcome.links;
    if (entry.kind == Kind::make && hard_link) ++outcome.files;
    if (entry.kind == Kind::unchanged && !directory) ++outcome.unchanged;
    if (entry.kind == Kind::skip) ++outcome.skipped;
    if (entry.type == EntryType::file || hard_link) ++progress.files_done;
    if (entry.kind != Kind::send && entry.kind != Kind::update) return;
    ++outcome.files;
    add_up(outcome.bytes, entry.size);
}

void Announcer::plan(PlannedEntry::Kind kind, const ScannedEntry& entry, std::uint8_t changes) {
    if (!what_.dry_run) return;
    PlannedEntry planned{.kind = kind,
                         .type = entry.type,
                         .changes = changes,
                         .path = entry.path,
                         .size = entry.size,
                         .target = entry.target};
    report_.edit([&](Progress& progress, Outcome& outcome) { count_planned(planned, progress, outcome); });
    if (options_.planned) options_.planned(planned);
    if (run_.asked_for) packer_.message(message::Plan{std::move(planned)});
}

void Announcer::plan_unread(const ScannedEntry& entry, Holding has, std::uint8_t changes) {
    using Kind = PlannedEntry::Kind;
    if (has == Holding::blocked) return;
    if (has == Holding::exists) return plan(Kind::skip, entry, 0);
    // Another name of a file that is replaced keeps the old content.
    const bool stale = entry.type == EntryType::hard_link && changed_.count(path_key(entry.target)) > 0;
    if (has == Holding::same && !stale) return plan(Kind::unchanged, entry, changes);
    plan(Kind::make, entry, stale && has == Holding::same ? change::kContent : changes);
}

void Announcer::plan_changed(const ScannedEntry& entry, std::uint8_t changes) {
    if (what_.hard_links) changed_.insert(path_key(entry.path));
    plan((changes & change::kNew) != 0 ? PlannedEntry::Kind::send : PlannedEntry::Kind::update, entry, changes);
}

void Announcer::meet(const ScannedEntry& entry) {
    const bool asks = what_.preserve && !what_.set_id;
    if (asks && loses_bits(entry, what_.owner)) special_bits_.add(entry.path);
    note_limited(entry, entry.mode_error);
    if (entry.type != EntryType::file || sent_ == nullptr || !sent_->earlier(entry.path)) return;
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.sent_earlier.files;
        add_up(outcome.sent_earlier.bytes, entry.bytes());
    });
}

void Announcer::begin(const ScannedEntry& entry) {
    report_.edit([&](Progress& progress, Outcome&) { progress.current_name = entry.path; });
}

void Announcer::end(const ScannedEntry& entry, std::uint64_t sent) {
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total += sent - entry.data_bytes; });
}

void Announcer::sent_whole(const ScannedEntry& entry, std::uint64_t sent) {
    report_.sent(entry.path, entry.bytes(), entry.root);
    if (sent_ != nullptr) sent_->add(entry.path, sent);
}

void Announcer::stands(const ScannedEntry& entry) {
    const auto sent = sent_ != nullptr ? sent_->earlier(entry.path) : std::nullopt;
    if (!sent) return;
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.sent_earlier.stood_files;
        add_up(outcome.sent_earlier.stood_bytes, entry.bytes());
        outcome.sent_earlier.stood_data += *sent;
    });
}

void Announcer::kept_file(const ScannedEntry& entry) {
    kept(entry.bytes(), 0);
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.kept_files;
        add_up(outcome.kept_file_bytes, entry.bytes());
    });
}

void Announcer::kept(std::uint64_t bytes, std::uint64_t compared) {
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.bytes_kept += bytes - compared;
        add_up(outcome.kept_bytes, bytes);
    });
}

void Announcer::compared(std::uint64_t same) {
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept += same; });
}

void Announcer::sent_anyway(std::uint64_t same) {
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept -= same; });
}

Error Announcer::changed(const ScannedEntry& entry) {
    return {ErrorCode::changed, "'" + escape_name(entry.path) +
                                    "' changed while it was read, or does not report its true size (procfs): send it "
                                    "again or copy it first"};
}

}  // namespace udtx::transfer
