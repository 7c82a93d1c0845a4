// lying_relay PORT HOW WHOLE: a relay in front of the honest one at PORT. It changes the stream of each end after WHOLE
// bytes (bend.hpp). It answers no datagrams, so that two ends on one host reach each other only through the relay.
// Prints "port N", and runs until standard input ends.
#include "lying_relay.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "bend.hpp"
#include "peer_program.hpp"

int main(int argc, char** argv) {
    using namespace udtx;
    if (argc != 4) test::die("usage: lying_relay PORT HOW WHOLE");
    const std::string how = argv[2];
    const std::size_t whole = std::stoul(argv[3]);
    std::map<std::pair<std::size_t, bool>, hostile::Bend> bends;
    const auto lie = [&](std::size_t connection, bool to_end, const apps::Message& message) -> apps::LyingRelay::Told {
        const auto* data = std::get_if<apps::Data>(&message);
        // Each stream passes two connections, and changes in one of them.
        if (data == nullptr || !to_end) return std::vector{message};
        hostile::Bend& bend = bends.try_emplace({connection, to_end}, how, whole).first->second;
        auto bytes = bend.pass(data->body);
        if (!bytes) return std::nullopt;
        std::vector<apps::Message> told;
        for (std::size_t at = 0; at < bytes->size(); at += apps::kMaxDataBytes) {
            const auto part = std::span(*bytes).subspan(at, std::min(apps::kMaxDataBytes, bytes->size() - at));
            told.emplace_back(apps::Data{{part.begin(), part.end()}});
        }
        return told;
    };
    const apps::LyingRelay relay(test::loopback(static_cast<std::uint16_t>(std::stoul(argv[1]))), lie);
    std::printf("port %u\n", relay.address().port);
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}
