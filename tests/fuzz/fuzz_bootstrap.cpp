// What the two ends exchange over ssh before they connect: the request, as the far end reads it from its standard
// input, and the text blocks themselves. What parses can be written again and parses to the same.
#include <algorithm>
#include <string>

#include "fuzz/require.hpp"
#include "ssh/bootstrap.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {7, "a parsed block over ssh is the same after writing and parsing it again"}};

using namespace udtx;
using namespace udtx::apps;
using udtx::fuzz::require;

namespace {

constexpr std::array<std::string_view, 6> kNames{"key", "source", "destination", "port", "error", "x"};

bool same(const BootstrapFields& a, const BootstrapFields& b) {
    return std::all_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
        return a.all(name) == b.all(name) && a.get(name) == b.get(name) && a.number(name) == b.number(name);
    });
}

/// Calls `take` for each line until it returns false.
template <class Take>
void for_each_line(std::string_view text, Take take) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (!take(text.substr(0, end))) return;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void check_blocks(std::string_view text) {
    BootstrapFieldReader reader;
    for_each_line(text, [&](std::string_view line) {
        if (const auto greeting = parse_greeting(line)) {
            std::string written = to_line(*greeting);
            require(written.ends_with('\n'), "a greeting is a line");
            written.pop_back();
            const auto again = parse_greeting(written);
            require(again && again->bootstrap == greeting->bootstrap && again->transfer == greeting->transfer &&
                        again->program == greeting->program,
                    "a greeting is written to the same");
        }
        const auto block = reader.feed(line);
        if (!block) return false;
        if (!block->has_value()) return true;
        BootstrapFieldReader other;
        bool ended = false;
        for_each_line((*block)->to_text(), [&](std::string_view one) {
            require(!ended, "a block ends once");
            const auto again = other.feed(one);
            require(again.ok(), "a written block can be read");
            ended = again->has_value();
            if (ended) require(same(**block, **again), "and is the same");
            return true;
        });
        require(ended, "a written block ends");
        return true;
    });
}

/// Reads the text as a program does that ssh started.
void check_request(std::string_view text) {
    BootstrapRequestReader reader;
    for_each_line(text, [&](std::string_view line) {
        const auto request = reader.feed(std::string(line));
        if (!request) return false;
        if (!request->has_value()) return true;
        if (const auto key = parse_key((*request)->get("key"))) {
            require(udtx::apps::to_hex(*key) == (*request)->get("key"), "a key is written to the same");
        }
        return false;
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check_blocks(text);
    check_request(text);
    check_request(own_greeting() + text);
    check_request(own_greeting() + "key " + std::string(64, 'a') + "\n" + text);
    return 0;
}
