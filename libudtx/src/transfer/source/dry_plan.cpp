#include "transfer/source/dry_plan.hpp"

#include <utility>

#include "transfer/names.hpp"

namespace udtx::transfer {

void count_planned(const PlannedEntry& entry, Progress& progress, Outcome& outcome) {
    using Kind = PlannedEntry::Kind;
    const bool hard_link = entry.type == EntryType::hard_link;
    const bool directory = entry.type == EntryType::directory;
    const bool stays = entry.kind == Kind::unchanged && entry.changes == 0;
    if (directory && entry.kind != Kind::skip) ++(stays ? outcome.unchanged_directories : outcome.directories);
    if (entry.kind == Kind::make && entry.type == EntryType::symlink) ++outcome.links;
    if (entry.kind == Kind::make && hard_link) ++outcome.files;
    if (entry.kind == Kind::unchanged && !directory) ++outcome.unchanged;
    if (entry.kind == Kind::skip) ++outcome.skipped;
    if (entry.type == EntryType::file || hard_link) ++progress.files_done;
    if (entry.kind != Kind::send && entry.kind != Kind::update) return;
    ++outcome.files;
    add_up(outcome.bytes, entry.size);
}

void DryPlan::add(PlannedEntry::Kind kind, const ScannedEntry& entry, std::uint8_t changes) {
    if (!options_.dry_run) return;
    PlannedEntry planned{kind, entry.type, changes, entry.path, entry.size, entry.target};
    report_.edit([&](Progress& progress, Outcome& outcome) { count_planned(planned, progress, outcome); });
    if (options_.planned) options_.planned(planned);
    if (options_.asked_for) packer_.message(message::Plan{std::move(planned)});
}

void DryPlan::add_unread(const ScannedEntry& entry, const RemoteHolding& holding) {
    using Kind = PlannedEntry::Kind;
    const Holding has = holding.has;
    if (has == Holding::blocked) return;
    if (has == Holding::exists) return add(Kind::skip, entry, 0);
    // Another name of a file that is replaced keeps the old content.
    const bool stale = entry.type == EntryType::hard_link && changed_.count(path_key(entry.target)) > 0;
    if (has == Holding::same && !stale) return add(Kind::unchanged, entry, holding.changes);
    add(Kind::make, entry, stale && has == Holding::same ? change::kContent : holding.changes);
}

void DryPlan::add_changed(const ScannedEntry& entry, std::uint8_t changes) {
    if (options_.hard_links) changed_.insert(path_key(entry.path));
    add((changes & change::kNew) != 0 ? PlannedEntry::Kind::send : PlannedEntry::Kind::update, entry, changes);
}

}  // namespace udtx::transfer
