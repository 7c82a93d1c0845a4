#include "transfer/file/quirks/lent_rights.hpp"

#include <cerrno>

#include "transfer/file/belongings.hpp"
#include "transfer/file/occupant.hpp"

namespace udtx::transfer {

LentRights::LentRights(const ConfinedDir& root, ResumeJournal* journal) : root_(root), journal_(journal) {
    if (journal_ == nullptr) return;
    for (const auto& [directory, mode] : journal_->earlier().rights) owed_.emplace(directory, mode);
}

bool LentRights::is_barred(const Error& error) noexcept { return error.system_error == EACCES; }

bool LentRights::lend(const std::string& directory) {
    // The root is opened up by its descriptor: the directories above it are not ours.
    if (directory.empty()) {
        const auto before = open_up(root_.fd());
        if (before) owe(directory, *before);
        return before.has_value();
    }
    const SplitName split = split_leaf(directory);
    auto [parent, error] = root_.open_directory(split.directory);
    const bool opened_above = !parent && error == EACCES && lend(split.directory);
    if (opened_above) parent = root_.open_directory(split.directory).fd;
    if (!parent) return false;
    bool opened = false;
    std::uint32_t before = 0;
    const auto about_to = [&](std::uint32_t mode) {
        opened = true;
        owe(directory, mode);
    };
    return (open_up_directory(parent.get(), split.leaf, before, about_to) == 0 && opened) || opened_above;
}

void LentRights::owe(const std::string& directory, std::uint32_t mode) {
    // A killed run may have opened the directory up: the mode that it recorded counts.
    const bool added = owed_.emplace(directory, mode).second;
    if (added && journal_ != nullptr) journal_->add_rights(directory, mode, true);
}

std::optional<std::uint32_t> LentRights::owed(const std::string& directory) const {
    const auto at = owed_.find(directory);
    return at == owed_.end() ? std::nullopt : std::optional(at->second);
}

void LentRights::settled(const std::string& directory) {
    const auto at = owed_.find(directory);
    if (at == owed_.end()) return;
    if (journal_ != nullptr) journal_->add_rights(directory, at->second, false);
    owed_.erase(at);
}

void LentRights::give_back(const std::function<void(const std::string&, int)>& failed) {
    while (!owed_.empty()) {
        const auto [directory, mode] = *owed_.begin();
        auto [fd, error] = root_.open_directory(directory);
        if (fd) error = set_mode(fd.get(), mode);
        // A directory that was deleted or replaced meanwhile needs nothing.
        if (error != 0 && error != ENOENT && !is_barrier(error)) failed(directory, error);
        settled(directory);
    }
}

}  // namespace udtx::transfer
