// A tree writer in a temporary directory. The test feeds it as a receiver does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recording_report.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

using test::TemporaryDirectory;

/// Finishes the tree completely.
inline void finish(TreeWriter& writer) {
    while (!writer.finish([] { return true; })) {
    }
}

struct TreeWriterRig {
    explicit TreeWriterRig(bool keep = false, bool keep_set_id = false)
        : offer{.preserve = keep, .destination = {}, .set_id = keep_set_id} {
        open();
    }

    void open() {
        auto root = ConfinedDir::open(temp.path().string());
        writer.emplace(std::move(root).value(), offer, options, TreeRun{.unique = 1}, report);
    }

    static Digest hash(const std::string& text) {
        Hasher hasher(HashAlgorithm::xxh3_128);
        hasher.update(std::as_bytes(std::span(text)));
        return hasher.finish();
    }
    std::uint64_t entry(EntryType type, const std::string& path, std::uint64_t size = 0,
                        const std::string& target = "") {
        message::Entry m;
        m.index = next++;
        m.type = type;
        m.path = split_path(path);
        m.mode = mode;
        m.mtime = {1'000'000'000, 1};
        m.size = size;
        m.whole = type == EntryType::file;
        m.target = target;
        writer->begin_entry(m);
        return m.index;
    }
    void piece(std::uint64_t index, const std::string& content) {
        Piece p{index, 0, 0, content.size(), 0};
        writer->files().write_piece({p, Chunk::copy_of(std::as_bytes(std::span(content)))});
    }
    void digests(std::uint64_t index, const std::string& content) {
        writer->files().check_digests({index, 0, {hash(content)}});
    }
    void end(std::uint64_t index, const std::string& content, FileStatus status = FileStatus::ok) {
        FileDigest digest(HashAlgorithm::xxh3_128, content.size());
        if (!content.empty()) digest.add(0, content.size(), hash(content));
        writer->end_file({index, status, digest.finish()}, content.empty() ? 0 : 1);
    }
    void file(const std::string& path, const std::string& content) {
        const std::uint64_t index = entry(EntryType::file, path, content.size());
        if (!content.empty()) {
            piece(index, content);
            digests(index, content);
        }
        end(index, content);
    }

    TemporaryDirectory temp;
    message::Offer offer;
    LandingOptions options;
    RecordingReport report;
    bool& fatal = report.ended_early;
    std::vector<std::pair<Belonging, std::string>>& unset = report.unset;
    std::vector<std::string>& delivered = report.delivered;
    std::vector<std::string>& failed = report.failures;
    std::vector<ErrorCode>& codes = report.codes;
    std::uint64_t next = 0;
    std::uint32_t mode = 0755;
    std::optional<TreeWriter> writer;
};

}  // namespace udtx::transfer
