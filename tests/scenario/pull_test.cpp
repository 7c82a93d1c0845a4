// Pulls from a server: ServedJob and ReceiveJob over a simulated network, with real files.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scenario/transfer_rig.hpp"
#include "sim/check.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/job/served_job.hpp"

using namespace udtx;
using namespace udtx::sim;
using namespace udtx::test;
using namespace std::chrono_literals;

namespace {

transfer::PullWish wish_for(std::vector<std::string> sources) {
    transfer::PullWish wish;
    wish.what.sources = std::move(sources);
    return wish;
}

/// Serves everything below `base` for pulls, and refuses pushes.
transfer::ServeOptions serve(const fs::path& base) {
    transfer::ServeOptions options;
    options.push = []() -> Result<transfer::LandingOptions> { return Error{ErrorCode::refused, "read only"}; };
    options.pull = [base = base.string()](const transfer::PullWish& wish) -> Result<transfer::ConfinedSources> {
        const auto directory = transfer::ConfinedDir::open(base);
        if (!directory) return directory.error();
        return transfer::open_sources_below(*directory, wish.what.sources, wish.stream);
    };
    return options;
}

/// A server and a client that connects to it.
template <class Client>
class ServedRig {
  public:
    ServedRig(Scenario& scenario, transfer::ServeOptions serving,
              const std::function<Result<std::unique_ptr<Client>>(transfer::DoneCallback)>& make) {
        server = std::make_shared<JobApp<transfer::ServedJob>>(
            std::make_unique<transfer::ServedJob>(std::move(serving), [this] { server_done_ = true; }));
        auto job = make([this] { client_done_ = true; });
        if (!job) return;
        client = std::make_shared<JobApp<Client>>(std::move(*job));
        scenario.server().listen(1, [this](proto::Connection&) { return server; });
        scenario.client().connect(scenario.server().address(), client);
        scenario.client().pump();
    }
    bool run(Scenario& scenario) {
        static_cast<void>(scenario.run_until([this] { return server_done_ && client_done_; }, 600s));
        for (int i = 0; i < 2000 && !(server_done_ && client_done_); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return server_done_ && client_done_;
    }

    std::shared_ptr<JobApp<transfer::ServedJob>> server;
    std::shared_ptr<JobApp<Client>> client;

  private:
    std::atomic<bool> server_done_{false};
    std::atomic<bool> client_done_{false};
};

class PullRig : public ServedRig<transfer::ReceiveJob> {
  public:
    PullRig(Scenario& scenario, const fs::path& base, const transfer::PullWish& wish, const fs::path& destination)
        : ServedRig(scenario, serve(base), [&](transfer::DoneCallback done) {
              transfer::LandingOptions options;
              options.planned = [](const transfer::PlannedEntry&) {};
              transfer::ReceiveRun run;
              auto request = transfer::messages_of(wish);
              REQUIRE(request.ok());
              run.pull = transfer::PullOrder{
                  std::move(*request), transfer::AskedFor(wish, transfer::AskedFor::Sources::names),
                  [destination](const transfer::message::Sources&) -> Result<transfer::LandingPlace> {
                      return transfer::LandingPlace{destination.string(), {}};
                  }};
              return transfer::ReceiveJob::create(std::move(options), std::move(run), std::move(done));
          }) {}
    [[nodiscard]] transfer::Outcome fetched() const { return client->job().result(); }
    [[nodiscard]] transfer::Outcome served() const { return server->job().result(); }
};

}  // namespace

TEST_CASE("a tree is fetched as it was chosen, whatever the line loses") {
    for (const double loss : {0.0, 0.05}) {
        const TemporaryDirectory temp;
        fs::create_directories(temp / "base/tree/sub");
        fs::create_directory(temp / "dst");
        write_file(temp / "base/tree/large", random_content(3'500'001, 1));
        for (std::uint32_t i = 0; i < 100; ++i)
            write_file(temp / "base/tree/sub" / std::to_string(i), random_content(i * 11, i));
        write_file(temp / "base/tree/sub/object.o", "x");
        transfer::PullWish wish = wish_for({"tree"});
        REQUIRE(wish.what.rules.add({false, "*.o"}).ok());
        Scenario s(symmetric("pull, loss " + std::to_string(loss), line(loss)));
        PullRig rig(s, temp / "base", wish, temp / "dst");
        SIM_REQUIRE(s, rig.run(s));
        SIM_REQUIRE(s, rig.fetched().status.ok());
        SIM_REQUIRE(s, rig.served().status.ok());
        SIM_CHECK(s, rig.fetched().files == 101);
        SIM_CHECK(s, rig.served().files == 101);
        SIM_CHECK(s, rig.server->job().sender() != nullptr);
        SIM_CHECK(s, !fs::exists(temp / "dst/tree/sub/object.o"));
        SIM_CHECK(s, read_file(temp / "dst/tree/large") == read_file(temp / "base/tree/large"));
        SIM_CHECK(s, read_file(temp / "dst/tree/sub/99") == read_file(temp / "base/tree/sub/99"));
    }
}

TEST_CASE("what is not allowed is refused at both ends, and nothing is written") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "base");
    fs::create_directories(temp / "dst");
    write_file(temp / "outside", "x");
    {
        Scenario s(symmetric("pull from outside", line(0)));
        PullRig rig(s, temp / "base", wish_for({"../outside"}), temp / "dst");
        SIM_REQUIRE(s, rig.run(s));
        SIM_REQUIRE(s, !rig.fetched().status.ok());
        SIM_CHECK(s, rig.fetched().status.error().code == ErrorCode::refused);
        SIM_CHECK(s, rig.server->job().refused());
        SIM_CHECK(s, fs::is_empty(temp / "dst"));
    }
    Scenario s(symmetric("push to a server that only gives", line(0)));
    ServedRig<transfer::SendJob> rig(s, serve(temp / "base"), [&](transfer::DoneCallback done) {
        return transfer::SendJob::create({.what = {.sources = {(temp / "outside").string()}}}, {}, std::move(done));
    });
    SIM_REQUIRE(s, rig.run(s));
    SIM_REQUIRE(s, !rig.client->job().result().status.ok());
    SIM_CHECK(s, rig.client->job().result().status.error().code == ErrorCode::refused);
    SIM_CHECK(s, rig.server->job().refused());
    SIM_CHECK(s, fs::is_empty(temp / "base"));
}

TEST_CASE("a fetch that is interrupted at either end leaves only complete files") {
    for (const bool at_server : {false, true}) {
        const TemporaryDirectory temp;
        fs::create_directories(temp / "base");
        fs::create_directories(temp / "dst");
        write_file(temp / "base/large", random_content(20'000'000, 7));
        Scenario s(symmetric(at_server ? "the server ends it" : "the receiver ends it", line(0)));
        PullRig rig(s, temp / "base", wish_for({"large"}), temp / "dst");
        const Instant when = kStart + 300ms;
        if (at_server) {
            rig.server->abort_at(when);
        } else {
            rig.client->abort_at(when);
        }
        SIM_REQUIRE(s, rig.run(s));
        SIM_CHECK(s, !rig.fetched().status.ok());
        SIM_CHECK(s, !rig.served().status.ok());
        SIM_CHECK(s, !fs::exists(temp / "dst/large"));
    }
}
