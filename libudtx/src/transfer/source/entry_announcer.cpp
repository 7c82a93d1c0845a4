#include "transfer/source/entry_announcer.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

/// True if it has special bits that the receiver is not to set.
bool loses_bits(const ScannedEntry& entry, bool owners) {
    if (entry.type == EntryType::directory) return mode_bits::of_directory(entry.mode, false, owners) != entry.mode;
    return entry.type == EntryType::file && (entry.mode & mode_bits::kSpecial) != 0;
}

}  // namespace

std::uint64_t EntryAnnouncer::announce(message::Entry m, const std::string& path) {
    m.index = next_index_++;
    m.path = split_path(path);
    packer_.message(std::move(m));
    return next_index_ - 1;
}

void EntryAnnouncer::announce(const ScannedEntry& entry) {
    message::Entry m;
    m.type = entry.type;
    m.mode = entry.mode;
    m.mtime = entry.mtime;
    m.target = entry.target;
    announce(std::move(m), entry.path);
}

void EntryAnnouncer::announce_unread(const ScannedEntry& entry) {
    announce(entry);
    if (entry.type == EntryType::directory && tells_meta()) send_meta_of(entry);
}

void EntryAnnouncer::send_meta_of(const ScannedEntry& entry) {
    int error = 0;
    const int flags = entry.type == EntryType::directory ? O_RDONLY | O_DIRECTORY : O_RDONLY;
    const UniqueFd fd = roots_[entry.root].directory.open_at(entry.path, flags, 0, error);
    send_meta(entry, fd.get(), Others::go, error);
}

void EntryAnnouncer::announce_top() {
    const auto source = std::ranges::find_if(roots_, [](const SourceRoot& root) { return root.leaf.empty(); });
    struct stat st = {};
    if (source == roots_.end() || ::fstat(source->directory.fd(), &st) != 0) return;
    ScannedEntry entry;
    entry.root = static_cast<std::size_t>(source - roots_.begin());
    entry.type = EntryType::directory;
    entry.mode = mode_without_list(source->directory.fd(), static_cast<std::uint32_t>(st.st_mode) & mode_bits::kAll);
    entry.mtime = mtime_of(st);
    entry.user = st.st_uid;
    entry.group = st.st_gid;
    announce_unread(entry);
}

void EntryAnnouncer::announce_kept(const ScannedEntry& entry) {
    message::Entry m;
    m.mode = entry.mode;
    m.mtime = entry.mtime;
    m.size = entry.size;
    m.part = entry.part;
    packer_.message(message::FileEnd{announce(std::move(m), entry.path), FileStatus::kept, {}});
    if (tells_meta()) send_meta_of(entry);
}

void EntryAnnouncer::announce_unreadable(const ScannedEntry& entry, FileStatus why, int error_number) {
    message::Entry m;
    m.whole = true;
    packer_.message(
        message::FileEnd{announce(std::move(m), entry.path), why, {}, static_cast<std::uint64_t>(error_number)});
}

void EntryAnnouncer::send_meta(const ScannedEntry& entry, int fd, Others others, int open_error) {
    message::Meta m;
    m.index = next_index_ - 1;
    m.has_owner = options_.owner;
    m.has_attributes = options_.attributes;
    m.user = entry.user;
    m.group = entry.group;
    if (options_.attributes) {
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
    const bool news = !m.attributes.empty() || (options_.attributes && others == Others::go);
    if (m.has_owner || news) packer_.message(std::move(m));
}

void EntryAnnouncer::note_lost(const ScannedEntry& entry, const AttributesLeft& left) {
    if (left.none()) return;
    const bool directory = entry.type == EntryType::directory;
    report_.lacks(
        {Belonging::attributes, directory ? 0U : 1U, directory ? 1U : 0U, 0, entry.path.empty() ? "." : entry.path,
         left.error_number != 0 ? "cannot be read: " + std::generic_category().message(left.error_number)
                                : "too many or too large: of one entry " + std::to_string(kMaxAttributes) + " of " +
                                      std::to_string(kMaxAttributeBytes) + " bytes together are sent"});
}

void EntryAnnouncer::add_belongings(const ScannedEntry& entry, message::Query& query) {
    const bool directory = entry.type == EntryType::directory;
    if (!directory && entry.type != EntryType::file) return;
    query.has_owner = options_.owner;
    query.user = entry.user;
    query.group = entry.group;
    if (!options_.attributes) return;
    int error = 0;
    const UniqueFd fd =
        roots_[entry.root].directory.open_at(entry.path, directory ? O_RDONLY | O_DIRECTORY : O_RDONLY, 0, error);
    std::vector<message::Attribute> attributes;
    const AttributesLeft left = fd ? read_attributes(fd.get(), attributes) : AttributesLeft{false, error};
    if (fd) note_lost(entry, left);
    query.has_attributes = left.none();
    query.attributes = attributes_key(std::move(attributes));
}

void EntryAnnouncer::meet(const ScannedEntry& entry) {
    const bool asks = options_.preserve && !options_.set_id;
    if (asks && loses_bits(entry, options_.owner)) special_bits_.add(entry.path);
}

void EntryAnnouncer::tell_left_out() {
    warn_of(special_bits_, "set-user-ID, set-group-ID and sticky bits are kept only with --set-id");
    warn_of(capabilities_, "capabilities are never kept");
    warn_of(access_lists_, "access control lists are never kept");
    if (grown_.count > 0) {
        report_.warn(std::to_string(grown_.count) + (grown_.count == 1 ? " file" : " files") +
                     " grew while being read, and came with the length of the start, first '" +
                     escape_name(grown_.first) + "'");
    }
    tell_unset();
    // No entry named these: the receiver would only know their number.
    const std::vector<std::string> reasons = report_.reasons_unannounced();
    for (const std::string& reason : reasons) packer_.message(message::Note{reason});
    if (options_.asked_for) tell_warnings(reasons.size());
}

void EntryAnnouncer::tell_unset() {
    for (const Unset& unset : report_.outcome().unset) packer_.message(message::Unset{unset});
}

void EntryAnnouncer::tell_warnings(std::size_t notes) {
    const Outcome outcome = report_.outcome();
    std::vector<std::string> texts = outcome.warnings;
    std::erase_if(texts, [](const std::string& text) { return text.starts_with("receiver: "); });
    // A receiver's limit of messages counts both kinds.
    const std::size_t room = kMaxNotes - std::min(kMaxNotes, outcome.unset.size() + notes);
    if (texts.size() > room) texts.resize(room);
    for (std::string& text : texts) packer_.message(message::Note{std::move(text)});
}

void EntryAnnouncer::warn_of(const LeftOut& left, const char* what) const {
    if (left.count == 0) return;
    report_.warn(what + (": " + std::to_string(left.count)) + (left.count == 1 ? " entry has" : " entries have") +
                 " one, first '" + escape_name(left.first) + "'");
}

}  // namespace udtx::transfer
