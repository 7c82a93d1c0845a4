// The target tree that the parts of a writer share, in a temporary directory. It records what is reported.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recording_report.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/landing/target_tree.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

/// What a tree is written by.
struct TreeSetup {
    message::Offer offer{};
    LandingOptions options{};
    TreeRun run{};
};

struct TargetTreeRig {
    explicit TargetTreeRig(TreeSetup how = {}) : setup(std::move(how)) {
        setup.run.unique = 1;
        tree.emplace(ConfinedDir::open(temp.path().string()).value(), setup.offer, setup.options, setup.run, report);
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
    TreeSetup setup;
    RecordingReport report;
    std::vector<std::string>& delivered = report.delivered;
    std::vector<std::string>& failed = report.failures;
    std::vector<ErrorCode>& codes = report.codes;
    int& unchanged = report.unchanged;
    int& skipped = report.skipped;
    std::uint64_t next = 0;
    std::uint32_t mode = 0755;
    std::optional<TargetTree> tree;
};

}  // namespace udtx::transfer
