// Announces an entry's name and attributes. At the end it reports the attributes that are never sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transfer/file/belongings.hpp"
#include "transfer/job_report.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_tree.hpp"

namespace udtx::transfer {

class EntryAnnouncer {
  public:
    /// Whether META also removes attributes that only the receiver's version has.
    enum class Others { none, go };

    /// All arguments outlive it.
    EntryAnnouncer(const std::vector<SourceRoot>& roots, const ReadOptions& options, OutgoingPacker& packer,
                   JobReport& report)
        : roots_(roots), options_(options), packer_(packer), report_(report) {}

    /// Sends ENTRY under the next index, and returns that index.
    std::uint64_t announce(message::Entry m, const std::string& path);
    /// Sends ENTRY of a directory or a link.
    void announce(const ScannedEntry& entry);
    /// Announces a directory or a link, with its attributes.
    void announce_unread(const ScannedEntry& entry);
    /// Announces the attributes of the destination: those of the first source without a name of its own.
    void announce_top();
    /// Announces a file whose content exists at the receiver, with its attributes.
    void announce_kept(const ScannedEntry& entry);
    /// Announces an unreadable file, so that the receiver knows of it and of the failure.
    void announce_unreadable(const ScannedEntry& entry, FileStatus why, int error_number);
    /// Sends META of the latest entry, if there is something to say. `open_error`: why it could not be opened.
    void send_meta(const ScannedEntry& entry, int fd, Others others, int open_error = 0);
    /// Adds the attributes of the entry to the query.
    void add_belongings(const ScannedEntry& entry, message::Query& query);
    /// True if owner or attributes are sent.
    [[nodiscard]] bool tells_meta() const noexcept { return options_.owner || options_.attributes; }
    /// Number of entries so far.
    [[nodiscard]] std::uint64_t count() const noexcept { return next_index_; }

    /// Notes an entry that will be sent: special bits of its mode may be left out.
    void meet(const ScannedEntry& entry);
    /// Notes a file that was longer at the end of reading than at the start, and is sent as it was then.
    void note_grown(const ScannedEntry& entry) { grown_.add(entry.path); }
    /// Reports all that was left out. The receiver's user gets the report too, if the receiver requested the transfer.
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
    void tell_warnings(std::size_t notes);
    void tell_unset();
    /// Opens the entry, and sends META of the latest entry, which is its entry.
    void send_meta_of(const ScannedEntry& entry);
    /// Reports attributes that are not sent.
    void note_lost(const ScannedEntry& entry, const AttributesLeft& left);

    const std::vector<SourceRoot>& roots_;
    const ReadOptions& options_;
    OutgoingPacker& packer_;
    JobReport& report_;
    std::uint64_t next_index_ = 0;
    std::uint64_t reported_ = UINT64_MAX;  // index of the latest entry whose lost attributes are reported
    LeftOut special_bits_;                 // entries whose special bits are not kept
    LeftOut capabilities_;                 // files with capabilities
    LeftOut access_lists_;                 // entries with access control lists
    LeftOut grown_;                        // files that grew while they were read
};

}  // namespace udtx::transfer
