#include "transfer/message/message_codec.hpp"

#include <algorithm>
#include <cassert>

#include "wire/cursor.hpp"

namespace udtx::transfer {

namespace {

using wire::Writer;

std::span<const std::byte> as_bytes_of(const std::string& text, std::size_t limit) {
    return std::as_bytes(std::span(text.data(), std::min(text.size(), limit)));
}

bool put_bytes(Writer& out, std::span<const std::byte> bytes) { return out.varint(bytes.size()) && out.bytes(bytes); }

bool put_text(Writer& out, const std::string& text) { return put_bytes(out, as_bytes_of(text, kMaxTextBytes)); }

bool put_bound(Writer& out, const std::string& path) { return put_bytes(out, as_bytes_of(path, kMaxPathBytes)); }

bool put_type(Writer& out, MessageType type) { return out.u8(static_cast<std::uint8_t>(type)); }

bool put_shard(Writer& out, const std::optional<JobShard>& shard) {
    if (!shard) return true;
    const auto& content = shard->content;
    return out.u64(shard->job) && out.varint(shard->index) && out.varint(shard->count) && out.u64(shard->split) &&
           out.varint(shard->bits_per_second) && out.u64(shard->selection) && out.u64(shard->run) &&
           out.u64(shard->delivered_run) && out.u8(content ? kShardContent : 0) &&
           (!content || (out.varint(content->entries) && out.u64(content->bytes) && out.u64(content->names)));
}

bool put_file_part(Writer& out, const std::optional<FileRange>& part) {
    return !part || (out.varint(part->offset) && out.varint(part->length));
}

bool put_body(Writer& out, const message::Offer& m) {
    const auto flags = static_cast<std::uint8_t>((m.preserve ? kOfferPreserve : 0) | (m.owner ? kOfferOwner : 0) |
                                                 (m.sparse ? kOfferSparse : 0) | (m.dry_run ? kOfferDryRun : 0) |
                                                 (m.erase ? kOfferErase : 0) | (m.by_digest ? kOfferByDigest : 0) |
                                                 (m.set_id ? kOfferSetId : 0) | (m.shard ? kOfferShard : 0));
    return put_type(out, MessageType::offer) && out.varint(m.version) && out.u8(static_cast<std::uint8_t>(m.mode)) &&
           out.u8(flags) && out.u8(static_cast<std::uint8_t>(m.hash)) && put_path(out, m.destination) &&
           out.u64(m.transfer) && out.u8(static_cast<std::uint8_t>(m.overwrite)) && put_shard(out, m.shard);
}

bool put_body(Writer& out, const message::Entry& m) {
    const auto flags = static_cast<std::uint8_t>((m.sparse ? kEntrySparse : 0) | (m.whole ? kEntryWhole : 0) |
                                                 (m.part ? kEntryPart : 0));
    bool ok = put_type(out, MessageType::entry) && out.varint(m.index) && out.u8(static_cast<std::uint8_t>(m.type)) &&
              put_path(out, m.path) && out.varint(m.mode) && put_time(out, m.mtime);
    if (m.type == EntryType::file) ok = ok && out.varint(m.size) && out.u8(flags) && put_file_part(out, m.part);
    const bool link = m.type == EntryType::symlink || m.type == EntryType::hard_link;
    if (link) ok = ok && put_bytes(out, as_bytes_of(m.target, m.target.size()));
    return ok;
}

bool put_body(Writer& out, const message::Meta& m) {
    bool ok =
        put_type(out, MessageType::meta) && out.varint(m.index) &&
        out.u8(static_cast<std::uint8_t>((m.has_owner ? kMetaOwner : 0) | (m.has_attributes ? kMetaAttributes : 0))) &&
        out.varint(m.user) && out.varint(m.group) && out.varint(m.attributes.size());
    for (const message::Attribute& attribute : m.attributes) {
        ok = ok && put_bytes(out, as_bytes_of(attribute.name, attribute.name.size())) &&
             put_bytes(out, as_bytes_of(attribute.value, attribute.value.size()));
    }
    return ok;
}

bool put_body(Writer& out, const message::Rules& m) {
    bool ok = put_type(out, MessageType::rules) && out.u8(m.contents ? 1 : 0) && out.varint(m.rules.size());
    for (const auto& rule : m.rules) ok = ok && out.u8(rule.include ? 1 : 0) && put_text(out, rule.pattern);
    return ok;
}

bool put_extents(Writer& out, const std::vector<Extent>& extents) {
    bool ok = out.varint(extents.size());
    for (const Extent& extent : extents) ok = ok && out.varint(extent.offset) && out.varint(extent.length);
    return ok;
}

bool put_body(Writer& out, const message::Extents& m) {
    return put_type(out, MessageType::extents) && out.varint(m.index) && put_extents(out, m.extents);
}

bool put_body(Writer& out, const message::Kept& m) {
    return put_type(out, MessageType::kept) && out.varint(m.index) && put_extents(out, m.extents);
}

bool put_body(Writer& out, const message::Query& m) {
    return put_type(out, MessageType::query) && out.varint(m.number) && put_path(out, m.path) && out.varint(m.size) &&
           put_time(out, m.mtime) && out.varint(m.mode) &&
           out.u8(static_cast<std::uint8_t>((m.has_owner ? kMetaOwner : 0) | (m.has_attributes ? kMetaAttributes : 0) |
                                            (m.part ? kQueryPart : 0))) &&
           put_file_part(out, m.part) && (!m.has_owner || (out.varint(m.user) && out.varint(m.group))) &&
           (!m.has_attributes || out.u64(m.attributes));
}

bool put_body(Writer& out, const message::Resume& m) {
    return put_type(out, MessageType::resume) &&
           out.u8(static_cast<std::uint8_t>((m.active ? kResumeActive : 0) | (m.announce_all ? kResumeAnnounceAll : 0) |
                                            (m.keeps ? kResumeKeeps : 0))) &&
           put_text(out, m.note);
}

bool put_body(Writer& out, const message::Answer& m) {
    bool ok = put_type(out, MessageType::answer) && out.varint(m.number) && out.u8(static_cast<std::uint8_t>(m.has)) &&
              out.varint(m.damaged) && out.u8(m.changes) && out.varint(m.pieces.size());
    for (const ProvenPiece& piece : m.pieces) {
        ok = ok && out.varint(piece.offset) && out.varint(piece.length) && put_bytes(out, piece.digest.bytes());
    }
    return ok;
}

bool put_body(Writer& out, const message::Load& m) {
    return put_type(out, MessageType::load) && out.varint(m.disk) && out.varint(m.cpu);
}

bool put_body(Writer& out, const message::Cap& m) {
    return put_type(out, MessageType::cap) && out.varint(m.bits_per_second);
}

bool put_body(Writer& out, const message::Share& m) {
    return put_type(out, MessageType::share) && out.varint(m.bits_per_second);
}

bool put_body(Writer& out, const message::Job& m) {
    return put_type(out, MessageType::job) && out.u64(m.run) && out.varint(m.done) && out.varint(m.waiting);
}

bool put_body(Writer& out, const message::Digests& m) {
    bool ok = put_type(out, MessageType::digests) && out.varint(m.index) && out.varint(m.first) &&
              out.varint(m.digests.size());
    for (const Digest& digest : m.digests) ok = ok && put_bytes(out, digest.bytes());
    return ok;
}

bool put_body(Writer& out, const message::FileEnd& m) {
    return put_type(out, MessageType::file_end) && out.varint(m.index) && out.u8(static_cast<std::uint8_t>(m.status)) &&
           put_bytes(out, m.digest.bytes()) && (m.status != FileStatus::unreadable || out.varint(m.error));
}

bool put_body(Writer& out, const message::Finish& m) {
    return put_type(out, MessageType::finish) && out.varint(m.entries) && out.varint(m.data_bytes) &&
           out.varint(m.unsent) && put_bytes(out, m.root.bytes());
}

bool put_body(Writer& out, const message::Accept& m) {
    return put_type(out, MessageType::accept) && out.varint(m.version);
}

bool put_body(Writer& out, const message::FileFailed& m) {
    return put_type(out, MessageType::file_failed) && out.varint(m.index) && out.varint(m.code) &&
           put_text(out, m.path) && put_text(out, m.reason);
}

/// Writes a sum of sizes, which may be beyond what a message can carry.
bool put_sum(Writer& out, std::uint64_t sum) { return out.varint(std::min(sum, kMaxNumber)); }

bool put_totals(Writer& out, const message::Totals& t) {
    return out.varint(t.files) && out.varint(t.directories) && out.varint(t.links) && put_sum(out, t.bytes) &&
           put_sum(out, t.written_bytes) && out.varint(t.failures) && out.varint(t.unchanged) &&
           out.varint(t.skipped) && out.varint(t.erased) && out.varint(t.files_done) &&
           out.varint(t.unchanged_directories);
}

bool put_body(Writer& out, const message::Delivered& m) {
    return put_type(out, MessageType::delivered) && put_totals(out, m.totals);
}

bool put_body(Writer& out, const message::Confirm& m) {
    return put_type(out, MessageType::confirm) && put_totals(out, m.totals) && put_bytes(out, m.root.bytes());
}

bool put_body(Writer& out, const message::Stopped& m) {
    return put_type(out, MessageType::stopped) && out.varint(m.code) && put_text(out, m.reason) &&
           put_totals(out, m.totals);
}

bool put_list(Writer& out, const std::vector<std::string>& texts) {
    bool ok = out.varint(texts.size());
    for (const std::string& text : texts) ok = ok && put_bytes(out, as_bytes_of(text, text.size()));
    return ok;
}

bool put_body(Writer& out, const message::Unset& m) {
    return put_type(out, MessageType::unset) && out.u8(static_cast<std::uint8_t>(m.entries.what)) &&
           out.varint(m.entries.files) && out.varint(m.entries.directories) && out.varint(m.entries.links) &&
           put_text(out, m.entries.first) && put_text(out, m.entries.reason);
}

bool put_body(Writer& out, const message::Erased& m) {
    return put_type(out, MessageType::erased) && put_list(out, m.paths);
}

bool put_body(Writer& out, const message::Unsent& m) {
    return put_type(out, MessageType::unsent) && put_list(out, m.paths);
}

bool put_body(Writer& out, const message::Plan& m) {
    return put_type(out, MessageType::plan) && out.u8(static_cast<std::uint8_t>(m.entry.kind)) &&
           out.u8(static_cast<std::uint8_t>(m.entry.type)) && out.u8(m.entry.changes) &&
           put_bytes(out, as_bytes_of(m.entry.path, m.entry.path.size())) && out.varint(m.entry.size) &&
           put_bytes(out, as_bytes_of(m.entry.target, m.entry.target.size()));
}

bool put_body(Writer& out, const message::Sources& m) {
    bool ok = put_type(out, MessageType::sources) && out.u8(static_cast<std::uint8_t>(m.shape)) &&
              out.varint(m.missing.size());
    for (const auto& missing : m.missing) ok = ok && put_text(out, missing.path) && put_text(out, missing.reason);
    return ok;
}

std::uint64_t flags_of(const message::Pull& m) {
    return (m.preserve ? kPullPreserve : 0) | (m.owner ? kPullOwner : 0) | (m.sparse ? kPullSparse : 0) |
           (m.dry_run ? kPullDryRun : 0) | (m.erase ? kPullErase : 0) | (m.by_digest ? kPullByDigest : 0) |
           (m.attributes ? kPullAttributes : 0) | (m.hard_links ? kPullHardLinks : 0) | (m.named ? kPullNamed : 0) |
           (m.into_named ? kPullIntoNamed : 0) | (m.set_id ? kPullSetId : 0) | (m.part ? kPullPart : 0) |
           (m.shard ? kPullShard : 0);
}

bool put_body(Writer& out, const message::Pull& m) {
    return put_type(out, MessageType::pull) && out.varint(m.version) && out.u8(static_cast<std::uint8_t>(m.mode)) &&
           out.varint(flags_of(m)) && out.u8(static_cast<std::uint8_t>(m.links)) &&
           out.u8(static_cast<std::uint8_t>(m.hash)) && out.u8(static_cast<std::uint8_t>(m.overwrite)) &&
           out.u64(m.transfer) && put_list(out, m.sources) &&
           (!m.part || (put_bound(out, m.part->from) && put_bound(out, m.part->to) && out.varint(m.part->from_offset) &&
                        out.varint(m.part->to_offset))) &&
           put_shard(out, m.shard);
}

bool put_body(Writer& out, const message::Names& m) {
    return put_type(out, MessageType::names) && put_list(out, m.names);
}

bool put_body(Writer& out, const message::Note& m) { return put_type(out, MessageType::note) && put_text(out, m.text); }

bool put_body(Writer& out, const message::Paths& m) {
    bool ok = put_type(out, MessageType::paths) && out.varint(m.paths.size());
    for (const SenderPath& path : m.paths) {
        const double mtr = std::clamp(path.mtr.bps(), 0.0, static_cast<double>(kMostBitsPerSecond));
        ok = ok && out.u8(path.id.value) && out.varint(path.sent_packets) && out.varint(path.lost_packets) &&
             out.varint(path.retransmitted_packets) && out.varint(static_cast<std::uint64_t>(mtr)) &&
             out.varint(std::min<std::uint64_t>(path.datagram_bytes, kMostDatagramBytes));
    }
    return ok;
}

bool put_body(Writer& out, const message::Found& m) {
    return put_type(out, MessageType::found) && out.varint(m.files) && put_sum(out, m.bytes) && out.u8(m.final ? 1 : 0);
}

}  // namespace

MessageWriter::MessageWriter() : scratch_(kMaxMessageBytes) {}

void MessageWriter::put(const Message& message) {
    Writer body(scratch_);
    [[maybe_unused]] const bool fits = std::visit([&](const auto& m) { return put_body(body, m); }, message);
    assert(fits && "a message beyond its bounds");
    std::array<std::byte, 8> prefix{};
    Writer length(prefix);
    length.varint(body.size());
    const auto head = length.written();
    const auto tail = body.written();
    out_.insert(out_.end(), head.begin(), head.end());
    out_.insert(out_.end(), tail.begin(), tail.end());
}

}  // namespace udtx::transfer
