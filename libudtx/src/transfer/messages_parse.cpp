#include <limits>

#include "transfer/message_types.hpp"
#include "transfer/messages.hpp"
#include "transfer/names.hpp"
#include "wire/cursor.hpp"

namespace udtx::transfer {

namespace {

/// Reads fields one after the other; the first failure makes all later reads fail too, so that a parser checks once.
class Fields {
  public:
    explicit Fields(std::span<const std::byte> body) : in_(body) {}

    [[nodiscard]] bool complete() const { return ok_ && in_.empty(); }
    [[nodiscard]] bool ok() const { return ok_; }
    void require(bool condition) { ok_ = ok_ && condition; }

    std::uint8_t u8(std::uint8_t at_most = std::numeric_limits<std::uint8_t>::max()) {
        const std::uint8_t v = take(ok_ ? in_.u8() : std::nullopt);
        require(v <= at_most);
        return v;
    }
    std::uint64_t u64() { return take(ok_ ? in_.u64() : std::nullopt); }
    std::uint64_t varint(std::uint64_t at_most = wire::kVarintMax) {
        const std::uint64_t v = take(ok_ ? in_.varint() : std::nullopt);
        require(v <= at_most);
        return v;
    }
    std::span<const std::byte> bytes(std::size_t at_most) {
        const std::uint64_t n = varint(at_most);
        return take(ok_ ? in_.bytes(static_cast<std::size_t>(n)) : std::nullopt);
    }
    std::string text(std::size_t at_most) {
        const auto raw = bytes(at_most);
        return {reinterpret_cast<const char*>(raw.data()), raw.size()};
    }
    std::vector<std::string> path() {
        std::vector<std::string> out;
        const std::uint64_t n = varint(kMaxDepth);
        for (std::uint64_t i = 0; ok_ && i < n; ++i) out.push_back(text(kMaxComponentBytes));
        return out;
    }
    Digest digest() {
        const auto raw = bytes(Digest::kMaxBytes);
        require(raw.empty() || raw.size() == 16 || raw.size() == 32);
        return ok_ ? Digest(raw) : Digest();
    }

  private:
    template <class T>
    T take(std::optional<T> value) {
        ok_ = ok_ && value.has_value();
        return ok_ ? *value : T{};
    }

    wire::Reader in_;
    bool ok_ = true;
};

message::Offer parse_offer(Fields& in) {
    message::Offer m;
    m.version = in.varint();
    m.mode = static_cast<TransferMode>(in.u8(1));
    m.preserve = in.u8(1) != 0;
    const auto hash = hash_algorithm_from(in.u8());
    in.require(hash.has_value());
    m.hash = hash.value_or(HashAlgorithm::xxh3_128);
    m.destination = in.path();
    return m;
}

message::Entry parse_entry(Fields& in) {
    message::Entry m;
    m.index = in.varint();
    m.type = static_cast<EntryType>(in.u8(2));
    m.path = in.path();
    m.mode = static_cast<std::uint32_t>(in.varint(07777));
    m.mtime_ns = static_cast<std::int64_t>(in.u64());
    if (m.type == EntryType::file) {
        m.size = in.varint(static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
        const std::uint8_t flags = in.u8(kEntrySparse | kEntryWhole);
        m.sparse = (flags & kEntrySparse) != 0;
        m.whole = (flags & kEntryWhole) != 0;
    }
    if (m.type == EntryType::symlink) m.target = in.text(kMaxPathBytes);
    return m;
}

message::Extents parse_extents(Fields& in) {
    message::Extents m;
    m.index = in.varint();
    const std::uint64_t n = in.varint(kMaxListItems);
    for (std::uint64_t i = 0; in.ok() && i < n; ++i) {
        Extent extent;
        extent.offset = in.varint();
        extent.length = in.varint();
        m.extents.push_back(extent);
    }
    return m;
}

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
    m.status = static_cast<FileStatus>(in.u8(3));
    m.digest = in.digest();
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

message::Totals parse_totals(Fields& in) {
    message::Totals t;
    t.files = in.varint();
    t.directories = in.varint();
    t.links = in.varint();
    t.bytes = in.varint();
    t.written_bytes = in.varint();
    t.failures = in.varint();
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

std::optional<Message> parse_body(MessageType type, Fields& in) {
    switch (type) {
        case MessageType::offer:
            return parse_offer(in);
        case MessageType::entry:
            return parse_entry(in);
        case MessageType::extents:
            return parse_extents(in);
        case MessageType::digests:
            return parse_digests(in);
        case MessageType::file_end:
            return parse_file_end(in);
        case MessageType::finish:
            return parse_finish(in);
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
    }
    return std::nullopt;
}

}  // namespace

Result<Message> parse_message(std::span<const std::byte> body) {
    Fields in(body);
    const auto type = static_cast<MessageType>(in.u8());
    if (type == MessageType::offer) {
        // Another version may lay out the rest differently: the number alone is enough to refuse it.
        Fields peek(body.subspan(1));
        message::Offer unknown;
        unknown.version = peek.varint();
        if (peek.ok() && unknown.version != kTransferVersion) return Message(std::move(unknown));
    }
    auto message = parse_body(type, in);
    if (!message) return Error{ErrorCode::malformed, "unknown control message"};
    if (!in.complete()) return Error{ErrorCode::malformed, "malformed control message"};
    return std::move(*message);
}

}  // namespace udtx::transfer
