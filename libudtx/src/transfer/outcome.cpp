#include <algorithm>

#include "transfer/names.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::transfer {

std::string_view to_string(Phase phase) noexcept {
    switch (phase) {
        case Phase::connect:
            return "connect";
        case Phase::transfer:
            return "transfer";
        case Phase::flush:
            return "flush";
        case Phase::verify:
            return "verify";
        case Phase::done:
            return "done";
    }
    return "done";
}

namespace {

std::string counted(std::uint64_t n, const char* one, const char* more) {
    return std::to_string(n) + ' ' + (n == 1 ? one : more);
}

std::string entries_of(const Unset& unset) {
    const std::uint64_t n = unset.count();
    if (n == unset.files) return counted(n, "file", "files");
    if (n == unset.directories) return counted(n, "directory", "directories");
    if (n == unset.links) return counted(n, "link", "links");
    return counted(n, "entry", "entries");
}

}  // namespace

std::string describe(const Unset& unset) {
    const std::string entries = entries_of(unset);
    const std::string first = ", first '" + escape_name(unset.first) + "': " + escape_line(unset.reason);
    switch (unset.what) {
        case Belonging::owner:
            return "owner of " + entries + " could not be set" + first;
        case Belonging::mode:
            return "mode of " + entries + " could not be set" + first;
        case Belonging::time:
            return "modification time of " + entries + " could not be set" + first;
        case Belonging::attributes:
            return "extended attributes of " + entries + " could not be set" + first;
        case Belonging::hard_link:
            break;
    }
    return "another name could not be made of " + entries + ", which came as copies" + first;
}

void add(std::vector<Unset>& all, const Unset& more) {
    const auto same_kind = [&](const Unset& unset) { return unset.what == more.what; };
    const auto at = std::find_if(all.begin(), all.end(), same_kind);
    if (at == all.end()) return all.push_back(more);
    at->files += more.files;
    at->directories += more.directories;
    at->links += more.links;
}

}  // namespace udtx::transfer
