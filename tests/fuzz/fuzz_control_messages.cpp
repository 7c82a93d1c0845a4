// Control messages: what parses is within its bounds, can be written again, and parses to the same.
#include <algorithm>
#include <vector>

#include "fuzz/require.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/selection.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {7, "a parsed message is within its bounds, and the same after writing and parsing it again"}};

using namespace udtx;
using namespace udtx::transfer;
using udtx::fuzz::require;

namespace {

void check_bounds(const Message& message) {
    if (const auto* entry = std::get_if<message::Entry>(&message)) {
        require(entry->path.size() <= kMaxDepth && entry->mode <= 07777, "entries are bounded");
        require(entry->target.size() <= kMaxPathBytes, "link targets are bounded");
    }
    if (const auto* extents = std::get_if<message::Extents>(&message)) {
        require(extents->extents.size() <= kMaxListItems, "extent lists are bounded");
    }
    if (const auto* meta = std::get_if<message::Meta>(&message)) {
        std::size_t bytes = 0;
        for (const auto& attribute : meta->attributes) bytes += attribute.name.size() + attribute.value.size();
        require(meta->attributes.size() <= kMaxAttributes && bytes <= kMaxAttributeBytes, "attributes are bounded");
    }
    if (const auto* rules = std::get_if<message::Rules>(&message)) {
        require(rules->rules.size() <= kMaxListItems, "rules are bounded");
        FilterRules filter;
        for (const FilterRule& rule : rules->rules) {
            require(rule.pattern.size() <= kMaxRuleBytes, "patterns are bounded");
            if (filter.add(rule).ok()) static_cast<void>(filter.excludes("dir/some.name", false));
        }
    }
    if (const auto* erased = std::get_if<message::Erased>(&message)) {
        require(erased->paths.size() <= kMaxListItems, "lists of names are bounded");
    }
    if (const auto* pull = std::get_if<message::Pull>(&message)) {
        require(pull->what.sources.size() <= kMaxListItems, "lists of sources are bounded");
    }
    if (const auto* names = std::get_if<message::Names>(&message)) {
        require(names->names.size() <= kMaxListItems, "lists of names are bounded");
    }
    if (const auto* unsent = std::get_if<message::Unsent>(&message)) {
        require(unsent->paths.size() <= kMaxListItems, "lists of names are bounded");
    }
    if (const auto* digests = std::get_if<message::Digests>(&message)) {
        require(digests->digests.size() <= kMaxListItems, "digest lists are bounded");
    }
}

void check_round_trip(const Message& message) {
    MessageWriter first;
    first.put(message);
    MessageReader reader;
    reader.feed(first.bytes());
    auto again = reader.next();
    require(again.ok() && again->has_value(), "a written message can be read");
    MessageWriter second;
    second.put(**again);
    require(std::equal(first.bytes().begin(), first.bytes().end(), second.bytes().begin(), second.bytes().end()),
            "and is the same");
}

/// A request that a server accepts is within the server's bounds, and means the same after it is written again.
void check_request(const PullRequest& request) {
    const PullWish& wish = request.wish();
    require(!wish.what.sources.empty() && wish.what.sources.size() <= kMaxPullSources, "a request has some sources");
    const auto messages = messages_of(wish);
    if (!messages.ok()) return;
    PullRequest again;
    MessageWriter bytes;
    for (const Message& message : *messages) bytes.put(message);
    require(again.add_all(bytes.bytes()).ok(), "a request can be repeated");
    require(again.wish().what.sources == wish.what.sources && again.wish().stream == wish.stream, "and is the same");
    require(again.wish().what.rules.list().size() == wish.what.rules.list().size(), "with its rules");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    MessageReader reader;
    reader.feed(input);
    PullRequest request;
    for (;;) {
        auto next = reader.next();
        if (!next.ok() || !next->has_value()) return 0;
        if (request.add(**next).ok()) check_request(request);
        check_bounds(**next);
        check_round_trip(**next);
    }
}
