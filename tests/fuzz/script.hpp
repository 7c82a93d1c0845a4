// Builds a sender's messages from the records of an input. Most records become well-formed messages, so that the input
// passes the first checks; one kind is sent raw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/message/message_codec.hpp"

namespace udtx::fuzz {

/// A record of the input: [kind, length, bytes...]. take_from() returns false at the end of the input.
struct Record {
    std::uint8_t kind = 0;
    std::span<const std::byte> bytes;
    [[nodiscard]] bool take_from(std::span<const std::byte>& in);
    [[nodiscard]] std::string_view text() const;
};

/// Runs a target whose input is one byte of choices, then records. Calls take() for each record, then finish().
template <class Target>
void play(std::span<const std::uint8_t> input) {
    if (input.empty()) return;
    auto in = std::as_bytes(input.subspan(1));
    Target target(input[0]);
    Record record;
    for (int records = 0; records < 64 && record.take_from(in); ++records) target.take(record);
    target.finish();
}

class SenderScript {
  public:
    /// Appends the messages and bytes that the record describes to control(), raw() and data().
    void add(const Record& record);

    [[nodiscard]] const transfer::MessageWriter& control() const noexcept { return control_; }
    [[nodiscard]] std::span<const std::byte> raw() const noexcept { return raw_; }
    [[nodiscard]] std::span<const std::byte> data() const noexcept { return data_; }
    void clear();

  private:
    void offer(std::uint8_t choice, std::string_view text);
    void file(std::string_view path, std::span<const std::byte> content, bool right);
    void pieces(std::string_view path, std::span<const std::byte> numbers);
    void more(const Record& record);
    void meta(std::span<const std::byte> bytes);
    [[nodiscard]] transfer::message::Entry entry(transfer::EntryType type, std::string_view path);
    void put(const transfer::Message& message) { control_.put(message); }

    transfer::MessageWriter control_;
    std::vector<std::byte> raw_;
    std::vector<std::byte> data_;
    std::uint64_t data_bytes_ = 0;
    std::uint64_t entries_ = 0;
    std::uint64_t queries_ = 0;
    std::uint8_t mode_ = 0;
    transfer::RootDigest root_{transfer::HashAlgorithm::xxh3_128};
    std::optional<transfer::Digest> end_;  // the digest of the finished tree; root_ does not change after that
};

}  // namespace udtx::fuzz
