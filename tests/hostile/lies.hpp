// What a lying server answers to a pull: one lie per entry.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"

namespace udtx::hostile {

/// Builds the messages of a sender in order, well formed unless a lie changes them.
class Script {
  public:
    using Edit = std::function<void(transfer::message::Offer&)>;
    explicit Script(const transfer::message::Pull& asked) : asked_(asked) {}

    void sources(transfer::SourceShape shape);
    void offer(const Edit& edit = {});
    void file(std::string_view path, std::string_view content = "evil\n");
    void directory(std::string_view path);
    void symlink(std::string_view path, std::string_view target);
    void hard_link(std::string_view path, std::string_view target);
    /// Appends the message unchanged.
    void put(const transfer::Message& message);
    /// Appends raw bytes to the control stream, without the form of a message.
    void raw(std::string_view bytes);
    /// Appends data that no message has announced.
    void spill(std::string_view bytes) { data_ += bytes; }
    /// Makes an entry with the next index.
    [[nodiscard]] transfer::message::Entry entry(transfer::EntryType type, std::string_view path);
    void query(std::string_view path);
    void finish();

    [[nodiscard]] std::span<const std::byte> control() const noexcept { return control_; }
    [[nodiscard]] const std::string& data() const noexcept { return data_; }
    [[nodiscard]] std::uint64_t entries() const noexcept { return entries_; }
    [[nodiscard]] const transfer::message::Pull& asked() const noexcept { return asked_; }

  private:
    transfer::message::Pull asked_;
    std::vector<std::byte> control_;
    transfer::RootDigest root_{transfer::HashAlgorithm::xxh3_128};
    std::string data_;
    std::uint64_t entries_ = 0;
    std::uint64_t queries_ = 0;
};

struct Lie {
    std::string_view name;
    std::string_view arguments;  ///< of udtx-recv, after the keys; URL stands for udtx://127.0.0.1:PORT/
    std::string_view named;      ///< what the error has to name; empty: the transfer succeeds
    std::function<void(Script&)> tell;
    int code = 12;  ///< the exit code if `named` is not empty
};

[[nodiscard]] const std::vector<Lie>& lies();

}  // namespace udtx::hostile
