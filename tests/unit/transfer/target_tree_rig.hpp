// The target tree that the parts of a writer share, in a temporary directory. It records the callbacks.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "test/temporary_directory.hpp"
#include "transfer/landing/target_tree.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

struct TargetTreeRig {
    explicit TargetTreeRig(TreeWriterOptions options = {}) {
        TreeWriterCallbacks callbacks;
        callbacks.delivered = [this](const Commit& commit) {
            const std::lock_guard lock(mutex);
            delivered.push_back(commit.path());
        };
        callbacks.failed = [this](std::uint64_t, const std::string& path, const Error& error) {
            const std::lock_guard lock(mutex);
            failed.push_back(path);
            codes.push_back(error.code);
        };
        callbacks.fatal = [this](const Error&) { fatal = true; };
        callbacks.unchanged = [this](EntryType) { ++unchanged; };
        callbacks.skipped = [this](EntryType) { ++skipped; };
        options.unique = 1;
        tree.emplace(ConfinedDir::open(temp.path().string()).value(), options, callbacks);
    }
    message::Entry entry(EntryType type, const std::string& path, const std::string& target = "") {
        message::Entry out;
        out.index = next++;
        out.type = type;
        out.path = split_path(path);
        out.mode = mode;
        out.mtime = {1'000'000'000, 0};
        out.target = target;
        return out;
    }

    test::TemporaryDirectory temp;
    std::mutex mutex;
    std::vector<std::string> delivered;
    std::vector<std::string> failed;
    std::vector<ErrorCode> codes;
    int unchanged = 0;
    int skipped = 0;
    bool fatal = false;
    std::uint64_t next = 0;
    std::uint32_t mode = 0755;
    std::optional<TargetTree> tree;
};

}  // namespace udtx::transfer
