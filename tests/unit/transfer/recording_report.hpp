// A report that keeps what a receiver's disk work has told it.
#pragma once

#include <map>
#include <mutex>
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
    bool checked(std::uint64_t /*bytes*/) override { return true; }
    void warn(const std::string& text) override {
        const std::lock_guard lock(mutex);
        warnings.push_back(text);
    }
    void fatal(const Error& /*error*/) override { ended_early = true; }

    std::mutex mutex;
    std::vector<std::string> delivered;
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
