// What the sender says of an entry beside its data: its name and what belongs to it, and at the end what of that is
// never sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transfer/job_report.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/read_options.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_tree.hpp"

namespace udtx::transfer {

class EntryAnnouncer {
  public:
    /// Attributes that the receiver's version may have and ours has not.
    enum class Others { none, go };

    /// All outlive it.
    EntryAnnouncer(const std::vector<SourceRoot>& roots, const ReadOptions& options, OutgoingPacker& packer,
                   JobReport& report)
        : roots_(roots), options_(options), packer_(packer), report_(report) {}

    /// ENTRY under the next index, which is returned.
    std::uint64_t announce(message::Entry m, const std::string& path);
    /// ENTRY of a directory or a link.
    void announce(const ScannedEntry& entry);
    /// A directory or a link, with what belongs to it.
    void announce_unread(const ScannedEntry& entry);
    /// The first of the sources that have no name of their own gives the destination what belongs to it.
    void announce_top();
    /// A file whose content stands at the receiver, with what belongs to it.
    void announce_kept(const ScannedEntry& entry);
    /// So that the receiver knows of the file, and what became of it.
    void announce_unreadable(const ScannedEntry& entry);
    /// META of the latest entry, where there is something to say.
    void send_meta(const ScannedEntry& entry, int fd, Others others);
    /// What belongs to the entry beside its data, for the question.
    void add_belongings(const ScannedEntry& entry, message::Query& query) const;
    /// Owner and attributes are told.
    [[nodiscard]] bool tells_meta() const noexcept { return options_.owner || options_.attributes; }
    /// Entries so far.
    [[nodiscard]] std::uint64_t count() const noexcept { return next_index_; }

    /// It is going to be sent: of its mode something may be left out.
    void meet(const ScannedEntry& entry);
    /// Of all that was left out. The receiver's user hears of it, too, if that asked for the transfer.
    void tell_left_out();

  private:
    /// Entries with something that is never sent.
    struct LeftOut {
        std::uint64_t count = 0;
        std::string first{};
        void add(const std::string& path) {
            if (count++ == 0) first = path;
        }
    };
    void warn_of(const LeftOut& left, const char* what) const;
    void tell_warnings();

    const std::vector<SourceRoot>& roots_;
    const ReadOptions& options_;
    OutgoingPacker& packer_;
    JobReport& report_;
    std::uint64_t next_index_ = 0;
    LeftOut special_bits_;  // entries that have them and are not to keep them ...
    LeftOut capabilities_;  // ... and files that ...
    LeftOut access_lists_;  // ... and entries that have these
};

}  // namespace udtx::transfer
