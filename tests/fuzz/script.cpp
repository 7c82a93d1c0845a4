#include "fuzz/script.hpp"

#include <algorithm>
#include <utility>

#include "peer_messages.hpp"
#include "transfer/names.hpp"

namespace udtx::fuzz {

using namespace transfer;

namespace {

/// Splits the text at the first zero byte.
std::pair<std::string_view, std::string_view> cut(std::string_view text) {
    const std::size_t zero = std::min(text.find('\0'), text.size());
    return {text.substr(0, zero), text.substr(std::min(zero + 1, text.size()))};
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

bool Record::take_from(std::span<const std::byte>& in) {
    if (in.size() < 2) return false;
    kind = std::to_integer<std::uint8_t>(in[0]);
    const auto length = std::min(std::to_integer<std::size_t>(in[1]), in.size() - 2);
    bytes = in.subspan(2, length);
    in = in.subspan(2 + length);
    return true;
}

std::string_view Record::text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void SenderScript::clear() {
    control_.clear();
    raw_.clear();
    data_.clear();
}

message::Entry SenderScript::entry(EntryType type, std::string_view path) {
    message::Entry m;
    m.index = entries_++;
    m.type = type;
    m.path = split_path(path);
    m.mode = mode_ == 0 ? 0644U : mode_ * 16U;
    m.mtime = {1'700'000'000, 0};
    return m;
}

void SenderScript::offer(std::uint8_t choice, std::string_view text) {
    message::Offer m;
    m.mode = (choice & 0x40U) != 0   ? TransferMode::stream
             : (choice & 0x20U) != 0 ? TransferMode::probe
                                     : TransferMode::tree;
    m.preserve = (choice & 1U) != 0;
    m.erase = (choice & 2U) != 0;
    m.dry_run = (choice & 4U) != 0;
    m.transfer = (choice & 8U) != 0 ? 77 : 0;
    m.by_digest = (choice & 16U) != 0;
    m.owner = m.set_id = m.sparse = (choice & 0x80U) != 0;
    m.destination = split_path(text);
    put(m);
}

void SenderScript::file(std::string_view path, std::span<const std::byte> content, bool right) {
    message::Entry m = entry(EntryType::file, path);
    m.size = content.size();
    m.whole = true;
    put(m);
    const auto hashed = content.first(content.size() - (right || content.empty() ? 0 : 1));
    const Digest whole =
        test::put_digests(m.index, content.size(), hashed, [this](const Message& message) { put(message); });
    if (!end_) root_.add(m.index, whole);
    put(message::FileEnd{m.index, FileStatus::ok, whole});
    data_.insert(data_.end(), content.begin(), content.end());
    data_bytes_ += content.size();
}

/// A file in extents, some of which are sent and some of which the receiver keeps.
void SenderScript::pieces(std::string_view path, std::span<const std::byte> numbers) {
    message::Entry m = entry(EntryType::file, path);
    const auto number = [&](std::size_t i) {
        return i < numbers.size() ? std::to_integer<std::uint64_t>(numbers[i]) : 0U;
    };
    m.size = number(0) << (number(1) % 40U);
    m.sparse = (number(1) & 0x80U) != 0;
    put(m);
    std::uint64_t at = 0;
    for (std::size_t i = 2; i + 2 < numbers.size(); i += 3) {
        const Extent extent{at + number(i), number(i + 1) << (number(i + 2) % 16U)};
        at = extent.offset + extent.length;
        if ((number(i + 2) & 0x80U) != 0) {
            put(message::Kept{m.index, {extent}});
        } else {
            put(message::Extents{m.index, {extent}});
            data_bytes_ += extent.length;
            if (extent.length <= 4096) data_.resize(data_.size() + static_cast<std::size_t>(extent.length));
        }
    }
    put(message::FileEnd{m.index, static_cast<FileStatus>(number(1) % 5U), {}});
}

void SenderScript::meta(std::span<const std::byte> bytes) {
    message::Meta m;
    m.index = entries_ == 0 ? 0 : entries_ - 1;
    m.has_owner = bytes.size() % 2 == 1;
    m.user = m.group = static_cast<std::uint32_t>(bytes.size());
    m.has_attributes = true;
    m.attributes.push_back({"user.x", std::string(bytes.size(), 'v')});
    put(m);
}

void SenderScript::add(const Record& record) {
    const auto [first, second] = cut(record.text());
    switch (record.kind % 16) {
        case 0:
            raw_.insert(raw_.end(), record.bytes.begin(), record.bytes.end());
            return;
        case 1:
            return file(first, bytes_of(second), true);
        case 2:
            return put(entry(EntryType::directory, first));
        case 3:
        case 4: {
            message::Entry m = entry(record.kind % 16 == 3 ? EntryType::symlink : EntryType::hard_link, first);
            m.target = second;
            return put(m);
        }
        case 5:
            return file(first, bytes_of(second), false);
        case 6:
            return pieces(first, bytes_of(second));
        default:
            return more(record);
    }
}

void SenderScript::more(const Record& record) {
    const std::string text(cut(record.text()).first);
    const std::uint8_t choice = record.bytes.empty() ? 0 : std::to_integer<std::uint8_t>(record.bytes[0]);
    switch (record.kind % 16) {
        case 7:
            return offer(choice, cut(record.text().substr(std::min<std::size_t>(1, record.bytes.size()))).first);
        case 8: {
            message::Query m;
            m.number = queries_++;
            m.path = split_path(text);
            m.size = text == "old" ? 11 : record.bytes.size();
            m.mtime = {1'700'000'000, 0};
            return put(m);
        }
        case 9:
            return put(message::Rules{choice % 2 == 1, {{choice % 4 > 1, text}}});
        case 10:
            return put(message::Unsent{{text}});
        case 11:
            return meta(record.bytes);
        case 12:
            mode_ = choice;
            return;
        case 13:
            return put(message::Sources{static_cast<SourceShape>(choice % 5), {}});
        case 14:
            data_.insert(data_.end(), record.bytes.begin(), record.bytes.end());
            return;
        default: {
            message::Finish m;
            m.entries = entries_;
            m.data_bytes = data_bytes_;
            if (!end_) end_ = root_.finish();
            m.root = *end_;
            return put(m);
        }
    }
}

}  // namespace udtx::fuzz
