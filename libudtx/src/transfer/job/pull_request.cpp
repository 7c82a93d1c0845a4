#include "transfer/job/pull_request.hpp"
#include "transfer/message/message_codec.hpp"

#include <string_view>

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
    if (m.version != kTransferVersion) {
        return broken("the receiver speaks another version of the transfer protocol: install the same version");
    }
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

}  // namespace udtx::transfer
