#include "transfer/message/message_codec.hpp"

#include <limits>
#include <utility>

#include "udtx/transfer/job_shard.hpp"
#include "wire/cursor.hpp"

namespace udtx::transfer {

namespace {

constexpr std::uint64_t kMaxId = std::numeric_limits<std::uint32_t>::max();

JobShard parse_shard(Fields& in) {
    JobShard shard;
    shard.job = in.u64();
    shard.index = static_cast<std::size_t>(in.varint(kMaxShards - 1));
    shard.count = static_cast<std::size_t>(in.varint(kMaxShards));
    in.require(shard.index < shard.count);
    shard.split = in.u64();
    shard.bits_per_second = in.varint(kMostBitsPerSecond);
    shard.selection = in.u64();
    shard.run = in.u64();
    shard.delivered_run = in.u64();
    if (in.u8(kShardContent) != 0) {
        shard.content.emplace();
        shard.content->entries = in.varint();
        shard.content->bytes = in.u64();
        shard.content->names = in.u64();
    }
    return shard;
}

FileRange parse_file_part(Fields& in) {
    FileRange part;
    part.offset = in.varint(kMaxFileBytes);
    part.length = in.varint(kMaxFileBytes);
    return part;
}

message::Offer parse_offer(Fields& in) {
    message::Offer m;
    m.version = in.varint();
    m.mode = static_cast<TransferMode>(in.u8(2));
    const std::uint8_t flags = in.u8();
    m.preserve = (flags & kOfferPreserve) != 0;
    m.owner = (flags & kOfferOwner) != 0;
    m.sparse = (flags & kOfferSparse) != 0;
    m.dry_run = (flags & kOfferDryRun) != 0;
    m.erase = (flags & kOfferErase) != 0;
    m.by_digest = (flags & kOfferByDigest) != 0;
    m.set_id = (flags & kOfferSetId) != 0;
    const auto hash = hash_algorithm_from(in.u8());
    in.require(hash.has_value());
    m.hash = hash.value_or(HashAlgorithm::xxh3_128);
    m.destination = in.path();
    m.transfer = in.u64();
    m.overwrite = static_cast<Overwrite>(in.u8(2));
    if ((flags & kOfferShard) != 0) m.shard = parse_shard(in);
    return m;
}

message::Entry parse_entry(Fields& in) {
    message::Entry m;
    m.index = in.varint();
    m.type = static_cast<EntryType>(in.u8(3));
    m.path = in.path();
    m.mode = static_cast<std::uint32_t>(in.varint(07777));
    m.mtime = in.time();
    if (m.type == EntryType::file) {
        m.size = in.varint(kMaxFileBytes);
        const std::uint8_t flags = in.u8(kEntrySparse | kEntryWhole | kEntryPart);
        m.sparse = (flags & kEntrySparse) != 0;
        m.whole = (flags & kEntryWhole) != 0;
        if ((flags & kEntryPart) != 0) m.part = parse_file_part(in);
    }
    if (m.type == EntryType::symlink || m.type == EntryType::hard_link) m.target = in.text(kMaxPathBytes);
    return m;
}

message::Meta parse_meta(Fields& in) {
    message::Meta m;
    m.index = in.varint();
    const std::uint8_t flags = in.u8(kMetaOwner | kMetaAttributes);
    m.has_owner = (flags & kMetaOwner) != 0;
    m.has_attributes = (flags & kMetaAttributes) != 0;
    m.user = static_cast<std::uint32_t>(in.varint(kMaxId));
    m.group = static_cast<std::uint32_t>(in.varint(kMaxId));
    std::size_t bytes = 0;
    const std::uint64_t n = in.varint(kMaxAttributes);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) {
        message::Attribute attribute;
        attribute.name = in.text(kMaxComponentBytes);
        attribute.value = in.text(kMaxAttributeBytes);
        bytes += attribute.name.size() + attribute.value.size();
        in.require(bytes <= kMaxAttributeBytes && attribute.name.find('\0') == std::string::npos);
        m.attributes.push_back(std::move(attribute));
    }
    return m;
}

message::Rules parse_rules(Fields& in) {
    message::Rules m;
    m.contents = in.u8(1) != 0;
    const std::uint64_t n = in.varint(kMaxListItems);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) {
        FilterRule rule;
        rule.include = in.u8(1) != 0;
        rule.pattern = in.text(kMaxRuleBytes);
        m.rules.push_back(std::move(rule));
    }
    return m;
}

std::vector<std::string> parse_path_list(Fields& in) {
    std::vector<std::string> out;
    const std::uint64_t n = in.varint(kMaxListItems);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) out.push_back(in.text(kMaxPathBytes));
    return out;
}

message::Plan parse_plan(Fields& in) {
    message::Plan m;
    m.entry.kind = static_cast<PlannedEntry::Kind>(in.u8(static_cast<std::uint8_t>(PlannedEntry::Kind::skip)));
    m.entry.type = static_cast<EntryType>(in.u8(3));
    m.entry.changes = in.u8();
    m.entry.path = in.text(kMaxPathBytes);
    m.entry.size = in.varint(kMaxFileBytes);
    m.entry.target = in.text(kMaxPathBytes);
    return m;
}

message::Sources parse_sources(Fields& in) {
    message::Sources m;
    m.shape = static_cast<SourceShape>(in.u8(static_cast<std::uint8_t>(SourceShape::stream)));
    const std::uint64_t n = in.varint(kMaxListItems);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) {
        message::Sources::Missing missing;
        missing.path = in.text(kMaxTextBytes);
        missing.reason = in.text(kMaxTextBytes);
        m.missing.push_back(std::move(missing));
    }
    return m;
}

message::Found parse_found(Fields& in) {
    message::Found m;
    m.files = in.varint();
    m.bytes = in.varint();
    m.final = in.u8(1) != 0;
    return m;
}

message::Paths parse_paths(Fields& in) {
    message::Paths m;
    const std::uint64_t n = in.varint(kMaxListItems);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) {
        SenderPath& path = m.paths.emplace_back();
        path.id.value = in.u8();
        path.sent_packets = in.varint();
        path.lost_packets = in.varint();
        path.retransmitted_packets = in.varint();
        path.mtr = Rate::bits_per_second(static_cast<double>(in.varint(kMostBitsPerSecond)));
        path.datagram_bytes = static_cast<std::uint32_t>(in.varint(kMostDatagramBytes));
    }
    return m;
}

message::Pull parse_pull(Fields& in) {
    message::Pull m;
    m.version = in.varint();
    m.mode = static_cast<TransferMode>(in.u8(1));
    const std::uint64_t flags = in.varint(kPullFlags);
    m.preserve = (flags & kPullPreserve) != 0;
    m.owner = (flags & kPullOwner) != 0;
    m.sparse = (flags & kPullSparse) != 0;
    m.dry_run = (flags & kPullDryRun) != 0;
    m.erase = (flags & kPullErase) != 0;
    m.by_digest = (flags & kPullByDigest) != 0;
    m.set_id = (flags & kPullSetId) != 0;
    m.attributes = (flags & kPullAttributes) != 0;
    m.hard_links = (flags & kPullHardLinks) != 0;
    m.named = (flags & kPullNamed) != 0;
    m.into_named = (flags & kPullIntoNamed) != 0;
    m.links = static_cast<LinkChoice>(in.u8(2));
    const auto hash = hash_algorithm_from(in.u8());
    in.require(hash.has_value());
    m.hash = hash.value_or(HashAlgorithm::xxh3_128);
    m.overwrite = static_cast<Overwrite>(in.u8(2));
    m.transfer = in.u64();
    m.sources = parse_path_list(in);
    if ((flags & kPullPart) != 0) {
        m.part.emplace();
        m.part->from = in.text(kMaxPathBytes);
        m.part->to = in.text(kMaxPathBytes);
        m.part->from_offset = in.varint(kMaxFileBytes);
        m.part->to_offset = in.varint(kMaxFileBytes);
    }
    if ((flags & kPullShard) != 0) m.shard = parse_shard(in);
    return m;
}

std::vector<Extent> parse_extent_list(Fields& in) {
    std::vector<Extent> out;
    const std::uint64_t n = in.varint(kMaxListItems);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) {
        Extent extent;
        extent.offset = in.varint();
        extent.length = in.varint();
        out.push_back(extent);
    }
    return out;
}

// EXTENTS and KEPT have the same layout.
template <class Message>
Message parse_extents_of(Fields& in) {
    Message m;
    m.index = in.varint();
    m.extents = parse_extent_list(in);
    return m;
}

message::Query parse_query(Fields& in) {
    message::Query m;
    m.number = in.varint();
    m.path = in.path();
    m.size = in.varint(kMaxFileBytes);
    m.mtime = in.time();
    m.mode = static_cast<std::uint32_t>(in.varint(07777));
    const std::uint8_t flags = in.u8(kMetaOwner | kMetaAttributes | kQueryPart);
    m.has_owner = (flags & kMetaOwner) != 0;
    m.has_attributes = (flags & kMetaAttributes) != 0;
    if ((flags & kQueryPart) != 0) m.part = parse_file_part(in);
    if (m.has_owner) m.user = static_cast<std::uint32_t>(in.varint(kMaxId));
    if (m.has_owner) m.group = static_cast<std::uint32_t>(in.varint(kMaxId));
    if (m.has_attributes) m.attributes = in.u64();
    return m;
}

message::Resume parse_resume(Fields& in) {
    message::Resume m;
    const std::uint8_t flags = in.u8(kResumeActive | kResumeAnnounceAll | kResumeKeeps);
    m.active = (flags & kResumeActive) != 0;
    m.announce_all = (flags & kResumeAnnounceAll) != 0;
    m.keeps = (flags & kResumeKeeps) != 0;
    m.note = in.text(kMaxTextBytes);
    return m;
}

message::Answer parse_answer(Fields& in) {
    message::Answer m;
    m.number = in.varint();
    m.has = static_cast<Holding>(in.u8(7));
    m.damaged = in.varint();
    m.changes = in.u8();
    const std::uint64_t n = in.varint(kMaxListItems);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) {
        ProvenPiece piece;
        piece.offset = in.varint(kMaxFileBytes);
        piece.length = in.varint(kMaxFileBytes);
        piece.digest = in.digest();
        m.pieces.push_back(piece);
    }
    return m;
}

message::Job parse_job(Fields& in) {
    message::Job m;
    m.run = in.u64();
    m.done = in.varint(kMaxShards);
    m.waiting = in.varint();
    return m;
}

message::Load parse_load(Fields& in) {
    message::Load m;
    m.disk = in.varint(1000);
    m.cpu = in.varint(1000);
    return m;
}

constexpr std::uint64_t kMaxErrno = 4095;

message::Digests parse_digests(Fields& in) {
    message::Digests m;
    m.index = in.varint();
    m.first = in.varint();
    const std::uint64_t n = in.varint(kMaxListItems);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) m.digests.push_back(in.digest());
    return m;
}

message::FileEnd parse_file_end(Fields& in) {
    message::FileEnd m;
    m.index = in.varint();
    m.status = static_cast<FileStatus>(in.u8(4));
    m.digest = in.digest();
    if (m.status == FileStatus::unreadable) m.error = in.varint(kMaxErrno);
    return m;
}

message::Finish parse_finish(Fields& in) {
    message::Finish m;
    m.entries = in.varint();
    m.data_bytes = in.varint();
    m.unsent = in.varint();
    m.root = in.digest();
    return m;
}

message::FileFailed parse_file_failed(Fields& in) {
    message::FileFailed m;
    m.index = in.varint();
    m.code = in.varint();
    m.path = in.text(kMaxTextBytes);
    m.reason = in.text(kMaxTextBytes);
    return m;
}

message::Unset parse_unset(Fields& in) {
    Unset unset;
    unset.what = static_cast<Belonging>(in.u8(kBelongings - 1));
    unset.files = in.varint();
    unset.directories = in.varint();
    unset.links = in.varint();
    unset.first = in.text(kMaxTextBytes);
    unset.reason = in.text(kMaxTextBytes);
    return {std::move(unset)};
}

message::Totals parse_totals(Fields& in) {
    message::Totals t;
    t.files = in.varint();
    t.directories = in.varint();
    t.links = in.varint();
    t.bytes = in.varint();
    t.written_bytes = in.varint();
    t.failures = in.varint();
    t.unchanged = in.varint();
    t.skipped = in.varint();
    t.erased = in.varint();
    t.files_done = in.varint();
    t.unchanged_directories = in.varint();
    return t;
}

message::Confirm parse_confirm(Fields& in) {
    message::Confirm m;
    m.totals = parse_totals(in);
    m.root = in.digest();
    return m;
}

message::Stopped parse_stopped(Fields& in) {
    message::Stopped m;
    m.code = in.varint();
    m.reason = in.text(kMaxTextBytes);
    m.totals = parse_totals(in);
    return m;
}

/// Another version may have another layout. Its number alone is enough to refuse it.
template <class Beginning>
Message of_version(std::uint64_t version) {
    Beginning m;
    m.version = version;
    return m;
}

std::optional<Message> parse_body(MessageType type, Fields& in) {
    switch (type) {
        case MessageType::offer:
            return parse_offer(in);
        case MessageType::entry:
            return parse_entry(in);
        case MessageType::extents:
            return parse_extents_of<message::Extents>(in);
        case MessageType::digests:
            return parse_digests(in);
        case MessageType::file_end:
            return parse_file_end(in);
        case MessageType::finish:
            return parse_finish(in);
        case MessageType::kept:
            return parse_extents_of<message::Kept>(in);
        case MessageType::query:
            return parse_query(in);
        case MessageType::meta:
            return parse_meta(in);
        case MessageType::rules:
            return parse_rules(in);
        case MessageType::unsent:
            return message::Unsent{parse_path_list(in)};
        case MessageType::accept:
            return message::Accept{in.varint()};
        case MessageType::file_failed:
            return parse_file_failed(in);
        case MessageType::delivered:
            return message::Delivered{parse_totals(in)};
        case MessageType::confirm:
            return parse_confirm(in);
        case MessageType::stopped:
            return parse_stopped(in);
        case MessageType::resume:
            return parse_resume(in);
        case MessageType::answer:
            return parse_answer(in);
        case MessageType::load:
            return parse_load(in);
        case MessageType::cap:
            return message::Cap{in.varint(kMostBitsPerSecond)};
        case MessageType::share: {
            const message::Share share{in.varint(kMostBitsPerSecond)};
            in.require(share.bits_per_second > 0);
            return share;
        }
        case MessageType::job:
            return parse_job(in);
        case MessageType::erased:
            return message::Erased{parse_path_list(in)};
        case MessageType::plan:
            return parse_plan(in);
        case MessageType::sources:
            return parse_sources(in);
        case MessageType::found:
            return parse_found(in);
        case MessageType::paths:
            return parse_paths(in);
        case MessageType::pull:
            return parse_pull(in);
        case MessageType::names:
            return message::Names{parse_path_list(in)};
        case MessageType::unset:
            return parse_unset(in);
        case MessageType::note:
            return message::Note{in.text(kMaxTextBytes)};
    }
    return std::nullopt;
}

}  // namespace

Result<Message> parse_message(std::span<const std::byte> body) {
    Fields in(body);
    const auto type = static_cast<MessageType>(in.u8());
    if (type == MessageType::offer || type == MessageType::pull) {
        Fields peek(body.subspan(1));
        const std::uint64_t version = peek.varint();
        if (peek.ok() && version != kTransferVersion) {
            if (type == MessageType::offer) return of_version<message::Offer>(version);
            return of_version<message::Pull>(version);
        }
    }
    auto message = parse_body(type, in);
    if (!message) return Error{ErrorCode::malformed, "unknown control message"};
    if (!in.complete()) return Error{ErrorCode::malformed, "malformed control message"};
    return std::move(*message);
}

void MessageReader::feed(std::span<const std::byte> bytes) {
    if (at_ > 0) {
        buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
        at_ = 0;
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Message>> MessageReader::next() {
    wire::Reader in(std::span<const std::byte>(buffer_).subspan(at_));
    const auto length = in.varint();
    if (!length) return std::optional<Message>();
    if (*length == 0 || *length > kMaxMessageBytes) return Error{ErrorCode::malformed, "control message too large"};
    const auto body = in.bytes(static_cast<std::size_t>(*length));
    if (!body) return std::optional<Message>();
    auto parsed = parse_message(*body);
    if (!parsed) return parsed.error();
    at_ += in.position();
    return std::optional<Message>(std::move(parsed).value());
}

std::optional<std::uint8_t> MessageReader::next_type() const {
    wire::Reader in(std::span<const std::byte>(buffer_).subspan(at_));
    return in.varint() ? in.u8() : std::nullopt;
}

}  // namespace udtx::transfer
