// Clients with a valid key that lie to a server, by pushing and by fetching.
//
//   lying_client KEY PORT DIR    DIR has target, which the server serves, and outside, which must stay unchanged
//
// After each lie the test checks the disk, and the server has to serve an honest client.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "caller.hpp"
#include "far_end.hpp"
#include "ground.hpp"
#include "honest.hpp"
#include "io/protocol_thread.hpp"
#include "peer_program.hpp"
#include "push_lies.hpp"

namespace {

using namespace udtx;
using namespace udtx::hostile;
using test::die;
using test::need;

/// Shorter than the server's timeout for a first message, because a silent client is not a case of this test.
constexpr auto kEndWithin = std::chrono::seconds(12);
constexpr auto kQuiet = std::chrono::milliseconds(150);

/// A program that ssh or a code has started serves one client: it deletes if that client asks, and waits for one that
/// has not begun.
bool differs_at_far_end(const PushLie& lie) {
    return lie.name == "a deletion" || lie.name == "the control stream ends before a word";
}

class Round {
  public:
    Round(io::Driver& driver, std::uint16_t port, Ground& ground)
        : driver_(driver), server_(test::loopback(port)), ground_(ground) {}

    void tell(const PushLie& lie, bool fetches) {
        ground_.prepare();
        Script script({});
        Speech speech;
        lie.tell(script, speech);
        speech.control.assign(script.control().begin(), script.control().end());
        speech.data = script.data();
        const bool waits = lie.expect == Expect::waits;
        const Ending ending = Caller::call(driver_, server_, std::move(speech), waits ? kQuiet : Duration(kEndWithin));
        judge(lie, ending);
        if (ending.data.find(kCanary) != std::string::npos) wrong(lie, ending, "the canary was sent");
        if (fetches && lie.name == "the truth" && ending.data.find("mine") == std::string::npos) {
            wrong(lie, ending, "nothing came of the truth");
        }
        if (const std::string harm = ground_.harm(); !harm.empty()) wrong(lie, ending, harm);
        if (!has_far_end()) serve_another(lie);
        std::printf("lie: %s\n", std::string(lie.name).c_str());
        ++told_;
    }
    /// The results after all lies.
    [[nodiscard]] std::size_t told() const noexcept { return told_; }
    [[nodiscard]] std::size_t failed() const noexcept { return wrong_; }
    [[nodiscard]] double slowest() const noexcept { return slowest_; }

  private:
    void judge(const PushLie& lie, const Ending& ending) {
        if (ending.far_code) {
            const int code = *ending.far_code;
            const bool delivered = ending.confirmed && ending.totals.failures == 0;
            if ((code == 0) != delivered || crashed(code)) {
                wrong(lie, ending, "its server ended with " + std::to_string(code));
            }
        }
        const auto has = [&](const std::string& text) { return text.find(lie.named) != std::string::npos; };
        switch (lie.expect) {
            case Expect::delivered:
                if (!ending.confirmed || ending.totals.failures > 0) wrong(lie, ending, "it is not delivered");
                return;
            case Expect::ends:
                if (ending.confirmed || !ending.over || ending.code != lie.code) wrong(lie, ending, "another end");
                if (!has(ending.reason)) wrong(lie, ending, "another reason");
                return;
            case Expect::fails:
                return judge_failure(lie, ending);
            case Expect::waits:
                if (ending.over) wrong(lie, ending, "it ended");
                return;
            case Expect::any:
                if (!ending.over) wrong(lie, ending, "it does not end");
                return;
        }
    }
    void judge_failure(const PushLie& lie, const Ending& ending) {
        if (!ending.over) wrong(lie, ending, "it does not end");
        if (ending.confirmed && ending.totals.failures == 0) wrong(lie, ending, "it is delivered");
        for (const auto& failed : ending.failed) {
            if ((failed.path + failed.reason).find(lie.named) != std::string::npos) return;
        }
        // The receiver does not report failures of the sender's own. If the only file fails, the whole transfer fails.
        if (ending.failed.empty() && (lie.named.empty() || ending.reason.find(lie.named) != std::string::npos)) return;
        wrong(lie, ending, "another failure");
    }
    void serve_another(const PushLie& lie) {
        const auto served = push_honestly(driver_, server_, ground_);
        if (!served) return wrong(lie, {}, "an honest client is not served");
        slowest_ = std::max(slowest_, *served);
    }
    void wrong(const PushLie& lie, const Ending& ending, const std::string& what) {
        std::string text = "'" + std::string(lie.name) + "' (" + std::string(lie.named) + "): " + what + ": " +
                           (ending.confirmed ? "confirmed"
                            : ending.over    ? "ended"
                                             : "waits") +
                           ", code " + std::to_string(ending.code) + " " + ending.reason;
        for (const auto& failed : ending.failed) text += "; failed: " + failed.path + ": " + failed.reason;
        std::fprintf(stderr, "%s\n", text.c_str());
        ++wrong_;
    }

    io::Driver& driver_;
    Address server_;
    Ground& ground_;
    std::size_t told_ = 0;
    std::size_t wrong_ = 0;
    double slowest_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) die("usage: lying_client KEY PORT DIR");
    const auto transport = need(io::ProtocolThread::make(own_credentials(argv[1]), TransportConfig{}));
    need(transport->driver().open(test::loopback()));
    transport->start();
    Ground ground(argv[3]);
    Round round(transport->driver(), static_cast<std::uint16_t>(std::stoul(argv[2])), ground);
    for (const PushLie& lie : push_lies()) {
        if (!has_far_end() || !differs_at_far_end(lie)) round.tell(lie, false);
    }
    // A server that ssh or a code has started receives.
    if (!has_far_end()) {
        for (const PushLie& lie : fetch_lies()) round.tell(lie, true);
    }
    transport->stop(std::chrono::milliseconds(300));
    if (round.failed() > 0) die(std::to_string(round.failed()) + " wrong ends");
    if (round.slowest() > 2) die("an honest client was served only after " + std::to_string(round.slowest()) + " s");
    std::printf("told %zu lies; an honest client was served within %.2f s after each\n", round.told(), round.slowest());
    return 0;
}
