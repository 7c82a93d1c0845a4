#include "transfer/job/pull_request.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "transfer/message/message_codec.hpp"
#include "transfer/names.hpp"
#include "transfer/source/scanner.hpp"

namespace udtx::transfer {

std::optional<JobShard> in_request(std::optional<JobShard> shard) {
    if (shard) shard->run = shard->delivered_run = 0;
    return shard;
}

namespace {

// Memory of a name besides its characters.
constexpr std::size_t kNameCost = sizeof(std::string);

Result<void> check_amount(const PullWish& wish) {
    std::size_t bytes = 0;
    for (const std::string& source : wish.what.sources) bytes += source.size() + 2;
    if (wish.what.sources.size() > kMaxPullSources || bytes > kMaxPullSourceBytes) {
        return Error{ErrorCode::invalid_argument, "too many sources for one request: at most " +
                                                      std::to_string(kMaxPullSources) +
                                                      " of 32 KiB together; name one source and list the files in it"};
    }
    if (!wish.what.names) return {};
    bytes = 0;
    for (const std::string& name : *wish.what.names) {
        if (name.size() > kMaxPathBytes) return Error{ErrorCode::invalid_argument, "a name of a source is too long"};
        bytes += name.size() + kNameCost;
    }
    if (bytes <= kMaxPullNameBytes) return {};
    return Error{ErrorCode::invalid_argument, "too many names for one request: at most 32 MiB"};
}

/// True if a component of the name is "..". There may be a million names, so it allocates nothing.
bool climbs(std::string_view name) {
    for (std::size_t at = name.find(".."); at != std::string_view::npos; at = name.find("..", at + 1)) {
        const bool begins = at == 0 || name[at - 1] == '/';
        const bool ends = at + 2 == name.size() || name[at + 2] == '/';
        if (begins && ends) return true;
    }
    return false;
}

void add_names(std::vector<std::string> names, std::vector<Message>& out) {
    message::Names next;
    std::size_t bytes = 0;
    for (std::string& name : names) {
        bytes += name.size() + 2;
        if (bytes > kMaxListedPathBytes || next.names.size() == kMaxListItems) {
            out.emplace_back(std::exchange(next, {}));
            bytes = name.size() + 2;
        }
        next.names.push_back(std::move(name));
    }
    if (!next.names.empty()) out.emplace_back(std::move(next));
}

Error not_asked(const std::vector<std::string>& path, const char* why) {
    return {ErrorCode::protocol,
            "the sender sent '" + escape_name(join_path(path)) + "', which was not requested: " + why};
}

Error not_asked(const char* what) {
    return {ErrorCode::protocol, std::string("the sender's offer differs from the request: ") + what};
}

}  // namespace

Result<std::vector<Message>> messages_of(PullWish wish) {
    if (auto checked = check_amount(wish); !checked) return checked.error();
    const FilterRules rules = std::exchange(wish.what.rules, {});
    std::vector<std::string> names;
    if (wish.what.names) names.swap(*wish.what.names);
    message::Pull pull{.mode = wish.stream ? TransferMode::stream : TransferMode::tree,
                       .what = std::move(wish.what),
                       .transfer = wish.transfer};
    pull.what.shard = in_request(pull.what.shard);
    std::vector<Message> out;
    out.emplace_back(std::move(pull));
    if (!rules.empty()) {
        for (message::Rules& some : rule_messages(rules, false)) out.emplace_back(std::move(some));
    }
    add_names(std::move(names), out);
    return out;
}

Result<void> PullRequest::add(Message message) {
    if (auto* pull = std::get_if<message::Pull>(&message)) return add(std::move(*pull));
    if (!begun_) return broken("the other end started without an offer or a request");
    if (const auto* rules = std::get_if<message::Rules>(&message)) return add(*rules);
    if (auto* names = std::get_if<message::Names>(&message)) return add(std::move(*names));
    return broken("the request of the receiver has an unexpected message");
}

Result<void> PullRequest::add_all(std::span<const std::byte> bytes) {
    MessageReader reader;
    reader.feed(bytes);
    for (;;) {
        auto next = reader.next();
        if (!next) return Error{ErrorCode::protocol, next.error().message};
        if (!next->has_value()) return {};
        if (auto added = add(std::move(**next)); !added) return added;
    }
}

Result<void> PullRequest::add(message::Pull m) {
    if (begun_) return broken("the receiver made two requests");
    if (m.version < kOldestTransferVersion) return broken(kTooOld);
    const bool stream = m.mode == TransferMode::stream;
    const Selection& what = m.what;
    if (what.sources.empty() || what.sources.size() > kMaxPullSources)
        return broken("a request without sources, or with too many");
    if (what.part && what.erase) return broken("a request to delete with a part of a tree");
    if (stream && (what.dry_run || what.erase || what.names || what.part || what.shard))
        return broken("a request for a stream with options of a tree");
    begun_ = true;
    wish_ = {.what = std::move(m.what), .transfer = m.transfer, .stream = stream};
    return {};
}

Result<void> PullRequest::add(const message::Rules& m) {
    for (const FilterRule& rule : m.rules) {
        if (auto added = wish_.what.rules.add(rule); !added) {
            return Error{ErrorCode::protocol, added.error().message};
        }
    }
    return {};
}

Result<void> PullRequest::add(message::Names m) {
    if (!wish_.what.names) return broken("names in a request without a list");
    for (std::string& name : m.names) {
        if (climbs(name)) return broken("a name leads out of its source");
        name_bytes_ += name.size() + kNameCost;
        if (name_bytes_ > kMaxPullNameBytes) return broken("too many names in a request");
        wish_.what.names->push_back(std::move(name));
    }
    return {};
}

Result<std::vector<std::string>> pack(const Selection& selection) {
    PullWish wish{.what = selection};
    // A request needs a source. The side that unpacks this one knows the sources already.
    if (wish.what.sources.empty()) wish.what.sources = {"."};
    const auto messages = messages_of(std::move(wish));
    if (!messages) return messages.error();
    std::vector<std::string> blocks;
    for (const Message& message : *messages) {
        MessageWriter out;
        out.put(message);
        blocks.emplace_back(reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size());
    }
    return blocks;
}

Result<Selection> unpack_selection(const std::vector<std::string>& blocks) {
    PullRequest request;
    for (const std::string& block : blocks) {
        const auto added = request.add_all(std::as_bytes(std::span(block.data(), block.size())));
        if (!added) return added.error();
    }
    if (!request.begun()) return Error{ErrorCode::protocol, "the selection names no source"};
    return request.take_wish().what;
}

AskedFor::AskedFor(PullWish wish, Sources how) : wish_(std::move(wish)), patterns_(how == Sources::patterns) {
    for (const std::string& source : wish_.what.sources) {
        const std::string leaf = source.substr(source.rfind('/') + 1);
        if (leaf.empty() || leaf == "." || leaf == "..") {
            contents_ = true;
        } else if (patterns_ && leaf.front() == '~' && leaf.size() == source.size()) {
            tops_.push_back({{}, source});
        } else {
            tops_.push_back({leaf, source});
        }
    }
    if (wish_.what.names) list_names();
}

void AskedFor::list_names() {
    contents_ = named_ = true;
    for (const std::string& name : std::exchange(*wish_.what.names, {})) {
        std::vector<std::string> components = split_path(name);
        std::erase(components, ".");
        const bool entries = components.empty() || name.ends_with('/') || name.ends_with("/.");
        const Into into = wish_.what.into_named ? Into::all : entries ? Into::entries : Into::nothing;
        const std::string path = join_path(components);
        Into& known = listed_[path].into;
        known = std::max(known, into);
        // The directories above are sent as well, since they lead to this name.
        for (std::size_t slash = path.rfind('/'); slash != std::string::npos; slash = path.rfind('/', slash - 1)) {
            if (std::exchange(listed_[path.substr(0, slash)].way, true)) break;
        }
    }
}

Result<void> AskedFor::check(const message::Sources& m) {
    const std::size_t sources = wish_.what.sources.size();
    const bool one = m.shape == SourceShape::file || m.shape == SourceShape::directory;
    if (wish_.stream != (m.shape == SourceShape::stream))
        return not_asked("a stream for a tree, or a tree for a stream");
    if (one && (sources != 1 || contents_)) return not_asked("one name for several");
    if (m.shape == SourceShape::contents && !contents_)
        return not_asked("the contents of a directory in place of the directory");
    shape_ = m.shape;
    for (const message::Sources::Missing& missing : m.missing) {
        const auto is_it = [&](const std::string& source) { return source.substr(0, kMaxTextBytes) == missing.path; };
        if (!patterns_ && std::ranges::none_of(wish_.what.sources, is_it)) {
            return not_asked({missing.path}, "it is reported as missing");
        }
        note_missing(missing.path);
    }
    return {};
}

Result<void> AskedFor::check(const message::Offer& m) const {
    const Selection& what = wish_.what;
    if (m.mode != (wish_.stream ? TransferMode::stream : TransferMode::tree))
        return not_asked("another kind of transfer");
    if (!wish_.stream && !m.destination.empty()) return not_asked("another place");
    if (m.dry_run != what.dry_run) return not_asked(m.dry_run ? "a dry run" : "no dry run");
    // A sender that lacks one of its sources may omit the deletion.
    if (m.erase && !what.erase) return not_asked("a deletion");
    if (m.preserve != what.preserve) return not_asked("modes");
    if (m.owner != what.owner) return not_asked("owners");
    if (m.set_id != what.set_id) return not_asked("set-user-ID bits");
    if (m.sparse != what.sparse) return not_asked("holes");
    if (m.by_digest != what.by_digest) return not_asked("another comparison");
    if (m.overwrite != what.overwrite) return not_asked("another choice of what to overwrite");
    if (m.hash != what.hash) return not_asked("another hash");
    if (m.transfer != 0 && m.transfer != wish_.transfer) return not_asked("the number of another transfer");
    if (m.shard && m.shard != in_request(what.shard)) return not_asked("a shard of another job");
    return {};
}

bool AskedFor::names(const Top& top, const std::string& name) const {
    if (top.name.empty()) return !home_.empty() && name == home_;
    // As in glob(): no star matches a leading dot.
    return top.name == name || (patterns_ && ::fnmatch(top.name.c_str(), name.c_str(), FNM_PERIOD) == 0);
}

bool AskedFor::is_home(const std::vector<std::string>& path, Kind kind) {
    const std::string& name = path.front();
    const bool itself = path.size() == 1;
    const bool asked = std::ranges::any_of(tops_, [](const Top& top) { return top.name.empty(); });
    if (asked && home_.empty() && itself && kind == Kind::directory && !name.starts_with('.')) home_ = name;
    return !home_.empty() && name == home_ && !(itself && kind == Kind::other);
}

bool AskedFor::is_listed(const std::vector<std::string>& path, Kind kind) const {
    std::string above = join_path(path);
    if (const auto at = listed_.find(above); at != listed_.end()) {
        if (at->second.into != Into::not_listed || kind != Kind::other) return true;
    }
    for (std::size_t up = 1; !above.empty(); ++up) {
        above.resize(above.rfind('/') == std::string::npos ? 0 : above.rfind('/'));
        const auto at = listed_.find(above);
        if (at == listed_.end()) continue;
        const Into into = at->second.into;
        if (into == Into::all || (into == Into::entries && up == 1)) return true;
    }
    return false;
}

bool AskedFor::is_excluded(const std::vector<std::string>& path, Kind kind, bool itself) {
    const FilterRules& rules = wish_.what.rules;
    if (rules.empty()) return false;
    const std::string whole = join_path(path);
    const auto at = listed_.find(whole);
    // Rules do not apply to directories that lead to a listed name.
    if (itself && at != listed_.end() && at->second.way && kind != Kind::other) return false;
    const bool either = kind == Kind::unknown && rules.excludes(whole, true) && rules.excludes(whole, false);
    if (either || (kind != Kind::unknown && rules.excludes(whole, kind == Kind::directory))) return true;
    const bool listed = at != listed_.end() && at->second.into != Into::not_listed;
    if (listed || path.size() == 1) return false;
    std::vector<std::string> above(path.begin(), path.end() - 1);
    const std::string directory = join_path(above);
    if (directory == included_) return false;
    if (is_excluded(above, Kind::directory, false)) return true;
    included_ = directory;
    return false;
}

bool AskedFor::in_part(const std::vector<std::string>& path, Kind kind) const {
    const auto& part = wish_.what.part;
    if (!part) return true;
    const std::string whole = join_path(path);
    const bool rest = part->from_offset > 0 && whole == part->from;
    return kind == Kind::other && !rest ? part->contains(whole) : part->meets(whole);
}

Result<void> AskedFor::check_bytes(const std::vector<std::string>& path, std::uint64_t size,
                                   const std::optional<FileRange>& part) const {
    const auto asked = wish_.what.part ? wish_.what.part->bytes_of(join_path(path), size) : FileRange{0, size};
    return asked == part.value_or(FileRange{0, size}) ? Result<void>()
                                                      : not_asked(path, "it is another part of the file");
}

const char* AskedFor::objection(const std::vector<std::string>& path, Kind kind) {
    const auto is_it = [&](const Top& top) { return !top.name.empty() && names(top, path.front()); };
    if (!contents_ && std::ranges::none_of(tops_, is_it) && !is_home(path, kind)) return "no source has that name";
    const bool one = shape_ == SourceShape::file || shape_ == SourceShape::directory;
    if (one && top_.empty()) top_ = path.front();
    if (one && top_ != path.front()) return "the request has one source";
    if (shape_ == SourceShape::file && (path.size() != 1 || kind == Kind::directory)) return "the source is a file";
    if (shape_ == SourceShape::directory && path.size() == 1 && kind == Kind::other) return "the source is a directory";
    if (named_ && !is_listed(path, kind)) return "the list of names does not have it";
    if (!in_part(path, kind)) return "it is in another part of the tree";
    if (is_excluded(path, kind)) return "a pattern excludes it";
    return nullptr;
}

Result<void> AskedFor::check(EntryType type, const std::vector<std::string>& path, const std::string& target) {
    if (const char* why = objection(path, type == EntryType::directory ? Kind::directory : Kind::other)) {
        return not_asked(path, why);
    }
    if (type == EntryType::symlink && wish_.what.links == LinkChoice::skip) {
        return not_asked(path, "links are excluded");
    }
    if (type == EntryType::symlink && wish_.what.links == LinkChoice::safe && leads_out(join_path(path), target)) {
        return not_asked(path, "it leads out of the tree");
    }
    note_came(path);
    if (type != EntryType::hard_link) return {};
    if (!wish_.what.hard_links) return not_asked(path, "hard links were not requested");
    const std::vector<std::string> other = split_path(target);
    if (auto checked = check_sent_path(other); !checked) return checked;
    if (const char* why = objection(other, Kind::other)) return not_asked(other, why);
    return {};
}

Result<void> AskedFor::check(const message::Query& m) {
    if (const char* why = objection(m.path, Kind::unknown)) return not_asked(m.path, why);
    each_awaited(m.path, [&](Awaited& awaited) {
        if (awaited.came || std::exchange(awaited.asked, true)) return;
        questions_.emplace(m.number, join_path(m.path));
    });
    return check_belongings(m.has_owner, m.has_attributes);
}

Result<void> AskedFor::check(const message::Meta& m) const {
    return check_belongings(m.has_owner, m.has_attributes || !m.attributes.empty());
}

Result<void> AskedFor::check_belongings(bool owner, bool attributes) const {
    if (owner && !wish_.what.owner) return not_asked("owners");
    if (attributes && !wish_.what.attributes) return not_asked("attributes");
    return {};
}

Result<void> AskedFor::check(const message::Rules& m) const {
    return m.contents && !contents_ ? not_asked("a deletion elsewhere") : Result<void>();
}

std::vector<message::Rules> AskedFor::rules() const { return rule_messages(wish_.what.rules, false); }

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
    // The missing source may be a home directory, whose name is unknown here.
    for (Top& top : tops_) top.awaited.came = top.awaited.came || top.name.empty();
}

void AskedFor::note(const message::Answer& m) {
    const auto at = questions_.find(m.number);
    if (at == questions_.end()) return;
    const bool stands = m.has == Holding::same || m.has == Holding::exists || m.has == Holding::blocked;
    if (stands) note_came(split_path(at->second));
    questions_.erase(at);
}

bool AskedFor::is_pattern(const std::string& name) const {
    return !named_ && patterns_ && (name.empty() || name.find_first_of("*?[") != std::string::npos);
}

bool AskedFor::may_be_excluded(const std::string& name) const {
    const FilterRules& rules = wish_.what.rules;
    // The names that a shell pattern matches are unknown here.
    return is_pattern(name) ? !rules.empty() : rules.excludes(name, true) || rules.excludes(name, false);
}

std::vector<AskedFor::Absent> AskedFor::take_absent(Questions questions) {
    std::vector<Absent> out;
    if (wish_.stream) return out;
    const bool may_be_link = wish_.what.links != LinkChoice::keep && shape_ != SourceShape::directory;
    const auto look = [&](Awaited& awaited, const std::string& name, const std::string& told) {
        if (awaited.came || (awaited.asked && questions == Questions::open) || may_be_excluded(name)) return;
        if (wish_.what.part && (is_pattern(name) || !wish_.what.part->contains(name))) return;
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
