// A sender with a valid key that sends anything, either to a server or in answer to a pull. Nothing outside the
// directory may change, and a pull may create only what was asked for. The job ends when the connection ends.
//
// Input: one byte of choices (1: a pull, 2: another local name, 4: --allow-delete, 8: set-user-ID bits are allowed, 16:
// no resume), then records as in script.hpp. Kinds from 0x80: the disk threads run first.
#include <algorithm>
#include <array>
#include <memory>

#include "fuzz/job_end.hpp"
#include "fuzz/require.hpp"
#include "fuzz/script.hpp"
#include "transfer/job/receive_job.hpp"
#include "transfer/names.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {44, "with any names from a sender, nothing outside of the directory changes"}};

using namespace udtx;
using namespace udtx::transfer;
using fuzz::require;

namespace {

fuzz::Place& place() {
    static fuzz::Place shared;
    return shared;
}

constexpr const char* kAsked = "dir";
constexpr const char* kRenamed = "copy";

LandingOptions options_of(std::uint8_t choice) {
    return {.directory = place().in(),
            .resume = (choice & 16U) == 0,
            .allow_erase = (choice & 4U) != 0,
            .allow_set_id = (choice & 8U) != 0};
}

ReceiveRun run_of(std::uint8_t choice) {
    if ((choice & 1U) == 0) return {};
    PullWish wish;
    wish.what.sources = {kAsked};
    wish.what.erase = (choice & 4U) != 0;
    auto request = messages_of(wish);
    require(request.ok(), "a pull can be asked for");
    const auto to = [choice](const message::Sources&) -> Result<LandingPlace> {
        return LandingPlace{place().in(), (choice & 2U) != 0 ? kRenamed : ""};
    };
    return {.pull = PullOrder{.request = *request, .asked = AskedFor(wish, AskedFor::Sources::names), .place = to}};
}

class Target {
  public:
    explicit Target(std::uint8_t choice)
        : pull_((choice & 1U) != 0),
          renamed_((choice & 2U) != 0),
          client_(line_, 1, fuzz::provider()),
          server_(line_, 2, fuzz::provider()) {
        auto job = ReceiveJob::create(options_of(choice), run_of(choice), done_.callback());
        require(job.ok(), "the directory can be opened");
        end_ = std::make_shared<fuzz::JobEnd>(std::move(*job));
        peer_ = std::make_shared<fuzz::Peer>();
        const std::shared_ptr<sim::App> listening = pull_ ? std::shared_ptr<sim::App>(peer_) : end_;
        const std::shared_ptr<sim::App> connecting = pull_ ? std::shared_ptr<sim::App>(end_) : peer_;
        server_.listen(1, [=](proto::Connection&) { return listening; });
        client_.connect(server_.address(), connecting);
        line_.settle(std::chrono::milliseconds(50));
        require(sender().connection && !receiving_host().sessions().empty(), "the connection is up");
        if (!pull_) peer_->start(*sender().connection);
    }

    void take(const fuzz::Record& record) {
        if (peer_->closed()) return;
        if (record.kind >= 0x80) run();
        script_.add(record);
        // Flush each record, because the first kind of data decides the kind of the data stream.
        flush();
    }

    void finish() {
        run();
        if (const auto connection = sender().connection) {
            connection->close(line_.now(), 1, "enough");
            sending_host().pump();
        }
        line_.settle(std::chrono::seconds(1));
        run();
        if (receiving_host().session().connection) {
            line_.settle(std::chrono::seconds(60));
        }
        done_.await();
        end_.reset();
        place().check();
        if (!pull_) return;
        for (const std::string& name : place().new_names()) {
            require(name == (renamed_ ? kRenamed : kAsked) || is_transfer_file(name), "only what was asked for comes");
        }
    }

  private:
    [[nodiscard]] fuzz::LineHost& sending_host() { return pull_ ? server_ : client_; }
    [[nodiscard]] fuzz::LineHost& receiving_host() { return pull_ ? client_ : server_; }
    [[nodiscard]] sim::Session& sender() {
        require(!sending_host().sessions().empty(), "the connection came");
        return sending_host().session();
    }
    void run() { end_->run(line_, receiving_host()); }

    void flush() {
        const auto connection = sender().connection;
        if (!connection) return;
        peer_->say(*connection, script_.control().bytes());
        peer_->say(*connection, script_.raw());
        peer_->give(*connection, script_.data(), StreamKind::unordered);
        script_.clear();
        sending_host().pump();
        line_.settle(std::chrono::milliseconds(1));
    }

    bool pull_;
    bool renamed_;
    fuzz::Line line_;
    fuzz::Done done_;
    std::shared_ptr<fuzz::JobEnd> end_;
    std::shared_ptr<fuzz::Peer> peer_;
    fuzz::LineHost client_;
    fuzz::LineHost server_;
    fuzz::SenderScript script_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    place().reset();
    fuzz::play<Target>(std::span(data, size));
    return 0;
}
