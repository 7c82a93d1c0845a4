// Control messages: whatever parses is within its bounds, can be written again, and parses to the same.
#include <algorithm>
#include <vector>

#include "fuzz/require.hpp"
#include "transfer/filter_rules.hpp"
#include "transfer/messages.hpp"
#include "transfer/names.hpp"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    MessageReader reader;
    reader.feed(input);
    for (;;) {
        auto next = reader.next();
        if (!next.ok() || !next->has_value()) return 0;
        check_bounds(**next);
        check_round_trip(**next);
    }
}
