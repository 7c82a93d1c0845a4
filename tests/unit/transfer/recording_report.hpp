// A report that keeps what a receiver's disk work has told it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transfer/landing/report.hpp"

namespace udtx::transfer {

struct RecordingReport final : Report {
    void ended(Ended how, EntryType /*type*/, const std::string& path, std::uint64_t /*size*/) override {
        const std::lock_guard lock(mutex);
        if (how == Ended::delivered || how == Ended::part || how == Ended::kept) delivered.push_back(path);
        if (how == Ended::unchanged) ++unchanged;
        if (how == Ended::skipped) ++skipped;
        if (how == Ended::erased) erased.insert(path);
    }
    void failed(std::uint64_t /*index*/, const std::string& path, const Error& error) override {
        const std::lock_guard lock(mutex);
        failures.push_back(path);
        codes.push_back(error.code);
    }
    void lacks(EntryType /*type*/, Belonging what, const std::string& path, int /*error_number*/) override {
        const std::lock_guard lock(mutex);
        unset.emplace_back(what, path);
    }
    void kept(std::uint64_t bytes) override { kept_bytes += bytes; }
    bool checked(std::uint64_t /*bytes*/) override { return erased.size() < most_erased; }
    void warn(const std::string& text) override {
        const std::lock_guard lock(mutex);
        warnings.push_back(text);
    }
    void fatal(const Error& /*error*/) override { ended_early = true; }

    std::mutex mutex;
    std::vector<std::string> delivered;
    std::set<std::string> erased;
    std::size_t most_erased = SIZE_MAX;  ///< no time is left after so many
    std::vector<std::string> failures;
    std::vector<ErrorCode> codes;
    std::vector<std::pair<Belonging, std::string>> unset;
    std::vector<std::string> warnings;
    std::uint64_t kept_bytes = 0;
    int unchanged = 0;
    int skipped = 0;
    bool ended_early = false;
};

}  // namespace udtx::transfer
