// The part of a request's memory that says what of it has not come.
#include <algorithm>
#include <utility>

#include "transfer/job/asked_for.hpp"
#include "transfer/names.hpp"
#include "transfer/source/scanner.hpp"

namespace udtx::transfer {

void AskedFor::each_awaited(const std::vector<std::string>& path, const std::function<void(Awaited&)>& use) {
    if (named_) {
        const auto at = listed_.find(join_path(path));
        if (at != listed_.end() && at->second.into != Into::not_listed) use(at->second.awaited);
    } else if (path.size() == 1) {
        for (Top& top : tops_) {
            if (names(top, path.front())) use(top.awaited);
        }
    }
}

void AskedFor::note_came(const std::vector<std::string>& path) {
    each_awaited(path, [](Awaited& awaited) { awaited.came = true; });
}

void AskedFor::note_missing(const std::string& path) {
    const std::string leaf = path.substr(path.rfind('/') + 1);
    bool any = false;
    for (Top& top : tops_) {
        const bool is_it =
            patterns_ ? !top.name.empty() && names(top, leaf) : top.source.substr(0, kMaxTextBytes) == path;
        top.awaited.came = top.awaited.came || is_it;
        any = any || is_it;
    }
    if (any) return;
    // Under a name that is not known here.
    for (Top& top : tops_) top.awaited.came = top.awaited.came || top.name.empty();
}

void AskedFor::note(const message::Answer& m) {
    const auto at = questions_.find(m.number);
    if (at == questions_.end()) return;
    const bool stands = m.has == Holding::same || m.has == Holding::exists || m.has == Holding::blocked;
    if (stands) note_came(split_path(at->second));
    questions_.erase(at);
}

bool AskedFor::may_be_excluded(const std::string& name) const {
    const FilterRules& rules = wish_.what.scan.rules;
    // What a pattern of a shell stands for is not known here.
    const bool unknown = !named_ && patterns_ && (name.empty() || name.find_first_of("*?[") != std::string::npos);
    return unknown ? !rules.empty() : rules.excludes(name, true) || rules.excludes(name, false);
}

std::vector<AskedFor::Absent> AskedFor::take_absent(Questions questions) {
    std::vector<Absent> out;
    if (wish_.stream) return out;
    const bool may_be_link = wish_.what.scan.links != LinkChoice::keep && shape_ != SourceShape::directory;
    const auto look = [&](Awaited& awaited, const std::string& name, const std::string& told) {
        if (awaited.came || (awaited.asked && questions == Questions::open) || may_be_excluded(name)) return;
        awaited.came = true;
        out.push_back({told, may_be_link});
    };
    if (named_) {
        for (auto& [name, listed] : listed_) {
            if (listed.into != Into::not_listed && !name.empty()) look(listed.awaited, name, name);
        }
    } else {
        for (Top& top : tops_) look(top.awaited, top.name, top.source);
    }
    return out;
}

}  // namespace udtx::transfer
