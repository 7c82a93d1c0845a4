#include "transfer/landing/holdings.hpp"

#include "transfer/landing/clear_way.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

bool Holdings::may_come(const message::Query& query, const std::string& path) {
    auto free = tree_.claims.take(path);
    if (!free && tree_.basis.is_same(path, query.size, query.mtime)) {
        free = tree_.claims.take(path, EntryClaims::For::keeping);
    }
    if (!free) {
        together_.insert(path_key(path));
        tree_.fail(kNoEntry, path, free.error());
        return false;
    }
    // If --delete must empty a directory first, that happens when the file has arrived.
    if (tree_.eraser || tree_.basis.must_stay(path) || !tree_.basis.is_directory(path)) return true;
    const auto way = check_way(tree_.root, path, nullptr);
    if (!way) tree_.fail(kNoEntry, path, way.error());
    return way.ok();
}

bool Holdings::is_journaled(const message::Query& query, const std::string& path) {
    if (!tree_.resume || tree_.basis.must_stay(path)) return false;
    // If the right file was put there meanwhile, it is not sent again to complete what an earlier run left.
    const bool stands = tree_.resume->has_partial(path) && tree_.options.overwrite != Overwrite::always &&
                        tree_.basis.is_same(path, query.size, query.mtime);
    if (stands || !tree_.resume->knows(path, query)) return false;
    // What was delivered before has the size and time of the source, and may differ from it all the same.
    return !tree_.options.by_digest || !tree_.resume->knows_whole(path, query);
}

void Holdings::answer(const message::Query& query, const Reply& reply) {
    if (!check_path(query.path)) return reply({query.number, Holding::nothing, 0, {}});
    const std::string path = join_path(query.path);
    if (tree_.eraser) tree_.eraser->keep(path, false);
    if (!may_come(query, path)) {
        note_stays(query, path, Holding::blocked);
        return reply({query.number, Holding::blocked, 0, {}});
    }
    if (is_journaled(query, path)) {
        // The file of the earlier run stays: a name with another spelling must not claim it because it looks the same.
        if (tree_.resume->knows_whole(path, query)) tree_.claims.note_kept(path);
        return tree_.resume->answer(query, reply);
    }
    const auto has = tree_.basis.answer(query, reply);
    if (has == Holding::same || has == Holding::exists) tree_.claims.note_kept(path);
    // With a receipt each file is announced, if only as kept, and is counted then.
    if (has == Holding::same && !tree_.options.announce_all) {
        note_stays(query, path, *has);
        tree_.note_unchanged(EntryType::file, path);
    }
    if (has == Holding::exists) {
        note_stays(query, path, *has);
        tree_.callbacks.skipped(EntryType::file);
    }
}

void Holdings::note_stays(const message::Query& query, const std::string& path, Holding has) {
    // Only files of the first queries are sent ahead of the answers.
    if (query.number < kAskedEarly && stays_.size() < kAskedEarly)
        stays_[path_key(path)] = {has, query.size, query.mtime};
}

bool Holdings::stays(const message::Entry& entry, const std::string& path) const {
    const auto at = stays_.find(path_key(path));
    if (at == stays_.end()) return false;
    // If the file changed after the query, the answer was not about this version.
    return at->second.has != Holding::same || (at->second.size == entry.size && at->second.mtime == entry.mtime);
}

bool Holdings::go_on(const Reply& reply) {
    return (tree_.resume && tree_.resume->go_on(reply)) || tree_.basis.go_on(reply);
}

bool Holdings::fell_together(const std::string& path) const {
    return !together_.empty() && together_.count(path_key(path)) > 0;
}

}  // namespace udtx::transfer
