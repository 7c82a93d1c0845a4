// An observer of the link sees none of the content.
#include <cstring>
#include <unordered_set>

#include "sim/check.hpp"
#include "sim/pattern.hpp"
#include "victim.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

using Words = std::unordered_set<std::uint64_t>;

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    return word;
}

/// The words at every eighth byte. Any 15 consecutive bytes of the content include one of them.
Words words_of(std::span<const std::byte> content) {
    Words words;
    for (std::size_t at = 0; at + 8 <= content.size(); at += 8) words.insert(word_at(content, at));
    return words;
}

bool shows(std::span<const std::byte> packet, const Words& words) {
    for (std::size_t at = 0; at + 8 <= packet.size(); ++at) {
        if (words.contains(word_at(packet, at))) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("no packet of a session shows any of its content, and no two are alike") {
    constexpr std::uint64_t kBytes = 900'000;  // less than a period of the content
    Scenario s(symmetric("secrecy", {}));
    const Chunk content = pattern::chunk(0, kBytes);
    const Words words = words_of(content.bytes());
    REQUIRE(shows(pattern::chunk(123'457, 40).bytes(), words));
    std::size_t packets = 0;
    std::size_t open = 0;
    std::unordered_set<std::string> bodies;
    s.network().set_filter([&](Instant, NodeId, const Packet& p) {
        ++packets;
        if (shows(p.data, words)) ++open;
        const auto* text = reinterpret_cast<const char*>(p.data.data());
        bodies.emplace(text + p.data.size() / 2, p.data.size() - p.data.size() / 2);
        return true;
    });
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
    SIM_CHECK(s, bulk.receiver->intact());
    SIM_REQUIRE(s, packets > 600);
    SIM_CHECK(s, open == 0);
    SIM_CHECK(s, bodies.size() == packets);
}
