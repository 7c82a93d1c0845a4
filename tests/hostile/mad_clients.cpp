// Clients with a valid key that send a good run altered by a seed.
//
//   mad_clients KEY PORT DIR COUNT FIRST    as lying_client; exits with 1 after printing the seeds of the round that
//                                           did harm
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "caller.hpp"
#include "far_end.hpp"
#include "ground.hpp"
#include "honest.hpp"
#include "io/protocol_thread.hpp"
#include "peer_program.hpp"
#include "random_lies.hpp"

namespace {

using namespace udtx;
using namespace udtx::hostile;
using test::need;

constexpr auto kQuiet = std::chrono::milliseconds(100);
constexpr std::uint64_t kAtOnce = 16;

/// What is wrong with the end of a client, or of its own server; empty: nothing.
std::string harm_of(const Ending& ending) {
    if (!ending.connected) return "a client did not connect: " + ending.reason;
    if (ending.far_code && crashed(*ending.far_code))
        return "its server ended with " + std::to_string(*ending.far_code);
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) test::die("usage: mad_clients KEY PORT DIR COUNT FIRST");
    const auto transport = need(io::ProtocolThread::make(own_credentials(argv[1]), TransportConfig{}));
    need(transport->driver().open(test::loopback()));
    transport->start();
    const Address server = test::loopback(static_cast<std::uint16_t>(std::stoul(argv[2])));
    Ground ground(argv[3]);
    const std::uint64_t first = std::stoull(argv[5]);
    const std::uint64_t end = first + std::stoull(argv[4]);
    double slowest = 0;
    std::atomic<int> delivered = 0;
    for (std::uint64_t seed = first; seed < end; seed += kAtOnce) {
        const std::uint64_t last = std::min(end, seed + kAtOnce);
        ground.prepare();
        std::vector<std::thread> clients;
        std::vector<std::string> harms(last - seed);
        for (std::uint64_t one = seed; one < last; ++one) {
            clients.emplace_back([&, one] {
                const Ending ending = Caller::call(transport->driver(), server, random_speech(one), kQuiet);
                harms[one - seed] = harm_of(ending);
            });
        }
        for (std::thread& client : clients) client.join();
        const auto served = has_far_end() ? std::optional(0.0) : push_honestly(transport->driver(), server, ground);
        std::string harm = ground.harm();
        for (const std::string& one : harms) harm = one.empty() ? harm : one;
        if (!served) harm = "an honest client is not served";
        if (served && *served > 2) harm = "an honest client was served only after " + std::to_string(*served) + " s";
        if (!harm.empty()) {
            std::printf("harm by one of %llu to %llu: %s\n", static_cast<unsigned long long>(seed),
                        static_cast<unsigned long long>(last - 1), harm.c_str());
            return 1;
        }
        slowest = std::max(slowest, *served);
    }
    transport->stop(std::chrono::milliseconds(300));
    if (has_far_end()) {
        std::printf("%llu seeds; each server of its own ended, %d with code 0\n",
                    static_cast<unsigned long long>(end - first), delivered.load());
        return 0;
    }
    std::printf("%llu seeds; an honest client was served within %.2f s\n", static_cast<unsigned long long>(end - first),
                slowest);
    return 0;
}
