// A receiver with a valid key that sends anything, either to a sender of a tree or to a server that it may fetch from.
// Nothing from outside the directory may be sent, nothing outside may change, and the job ends when the connection
// ends.
//
// Input: one byte of choices (1: a server that also accepts pushes; otherwise 2: -p, 4: --delete, 8: by digest, 16: a
// dry run, 32: a stable transfer number), then records [kind, length, bytes...]. Kinds from 0x80: the disk threads run
// first.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "fuzz/job_end.hpp"
#include "fuzz/require.hpp"
#include "fuzz/script.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/job/served_job.hpp"
#include "transfer/message/message_codec.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {44, "with any names that a receiver requests, nothing from outside of the directory is sent"}};

using namespace udtx;
using namespace udtx::transfer;
using fuzz::require;

namespace {

fuzz::Place& place() {
    static fuzz::Place shared;
    return shared;
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\0'), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

Digest digest_of(std::span<const std::byte> bytes) {
    Hasher hasher(HashAlgorithm::xxh3_128);
    hasher.update(bytes);
    return hasher.finish();
}

message::Pull pull_of(std::uint8_t choice, std::string_view text) {
    message::Pull m;
    m.mode = (choice & 1U) != 0 ? TransferMode::stream : TransferMode::tree;
    Selection& what = m.what;
    what.preserve = what.attributes = (choice & 2U) != 0;
    what.dry_run = (choice & 4U) != 0;
    what.erase = (choice & 8U) != 0;
    what.hard_links = (choice & 16U) != 0;
    if ((choice & 32U) != 0) what.names.emplace();
    what.into_named = (choice & 64U) != 0;
    what.by_digest = (choice & 128U) != 0;
    what.sources = split(text);
    return m;
}

message::Answer answer_of(std::span<const std::byte> bytes) {
    const auto number = [&](std::size_t i) { return i < bytes.size() ? std::to_integer<std::uint64_t>(bytes[i]) : 0U; };
    message::Answer m;
    m.number = number(0);
    m.has = static_cast<Holding>(number(1) % 8U);
    m.changes = static_cast<std::uint8_t>(number(2) % 2U);
    std::uint64_t at = 0;
    for (std::size_t i = 3; i + 1 < bytes.size() && m.pieces.size() < 16; i += 2) {
        m.pieces.push_back({at + number(i), 1 + number(i + 1), digest_of(std::as_bytes(std::span("content", 7)))});
        at = m.pieces.back().offset + m.pieces.back().length;
    }
    return m;
}

message::Totals totals_of(std::uint8_t choice) {
    message::Totals m;
    m.files = m.files_done = m.directories = choice;
    m.bytes = m.written_bytes = choice * 5U;
    return m;
}

/// Builds the receiver's message for a record. Raw bytes of the control stream are handled elsewhere.
Message message_of(const fuzz::Record& record) {
    const std::uint8_t choice = record.bytes.empty() ? 0 : std::to_integer<std::uint8_t>(record.bytes[0]);
    const std::string_view text = record.text().substr(std::min<std::size_t>(1, record.bytes.size()));
    switch (record.kind % 16) {
        case 2:
            return message::Resume{(choice & 1U) != 0, std::string(text), (choice & 2U) != 0, (choice & 4U) != 0};
        case 3:
            return answer_of(record.bytes);
        case 4:
            return message::FileFailed{choice, 2, std::string(text), "no room"};
        case 5:
            return message::Delivered{totals_of(choice)};
        case 6:
            return message::Confirm{totals_of(choice), digest_of(record.bytes)};
        case 7:
            return message::Stopped{choice, std::string(text), totals_of(choice)};
        case 8:
            return message::Cap{choice * 1'000'000U};
        case 9:
            return pull_of(choice, text);
        case 10:
            return message::Names{split(text)};
        case 11:
            return message::Rules{false, {{choice % 2 == 1, std::string(text)}}};
        case 12:
            return message::Erased{split(text)};
        case 13:
            return message::Note{std::string(text)};
        default:
            return message::Accept{choice == 0 ? kTransferVersion : choice};
    }
}

std::unique_ptr<Job> make_job(std::uint8_t choice, DoneCallback done) {
    if ((choice & 1U) != 0) {
        ServeOptions options;
        options.push = [] {
            return Result<LandingOptions>(LandingOptions{.directory = place().in(), .keep_base = true});
        };
        options.pull = [](const PullWish& wish) -> Result<ConfinedSources> {
            const auto base = ConfinedDir::open(place().in());
            require(base.ok(), "the directory can be opened");
            return open_sources_below(*base, wish.what.sources, wish.stream);
        };
        return std::make_unique<ServedJob>(std::move(options), std::move(done));
    }
    SendOptions options{.what = {.sources = {place().in()},
                                 .preserve = (choice & 2U) != 0,
                                 .by_digest = (choice & 8U) != 0,
                                 .dry_run = (choice & 16U) != 0,
                                 .erase = (choice & 4U) != 0}};
    const std::uint64_t transfer = (choice & 32U) != 0 ? 77 : 0;
    auto job = SendJob::create(std::move(options), {.transfer = transfer}, std::move(done));
    require(job.ok(), "the sources are there");
    return std::move(*job);
}

class Target {
  public:
    explicit Target(std::uint8_t choice)
        : served_((choice & 1U) != 0), client_(line_, 1, fuzz::provider()), server_(line_, 2, fuzz::provider()) {
        end_ = std::make_shared<fuzz::JobEnd>(make_job(choice, done_.callback()));
        peer_ = std::make_shared<fuzz::Peer>();
        const std::shared_ptr<sim::App> listening = served_ ? std::shared_ptr<sim::App>(end_) : peer_;
        const std::shared_ptr<sim::App> connecting = served_ ? std::shared_ptr<sim::App>(peer_) : end_;
        server_.listen(1, [=](proto::Connection&) { return listening; });
        client_.connect(server_.address(), connecting);
        line_.settle(std::chrono::milliseconds(50));
        require(!client_.sessions().empty() && !server_.sessions().empty(), "the connection is up");
        if (served_) peer_->start(*peer_host().session().connection);
        run();
    }

    void take(const fuzz::Record& record) {
        if (record.kind >= 0x80) run();
        const auto connection = peer_host().session().connection;
        if (!connection) return;
        if (record.kind % 16 == 0) {
            peer_->say(*connection, record.bytes);
        } else if (record.kind % 16 == 14) {
            peer_->give(*connection, record.bytes, StreamKind::unordered);
        } else {
            MessageWriter out;
            out.put(message_of(record));
            peer_->say(*connection, out.bytes());
        }
        peer_host().pump();
        line_.settle(std::chrono::milliseconds(1));
    }

    void finish() {
        run();
        if (const auto connection = peer_host().session().connection) {
            connection->close(line_.now(), 1, "enough");
            peer_host().pump();
        }
        line_.settle(std::chrono::seconds(1));
        run();
        if (job_host().session().connection) line_.settle(std::chrono::seconds(60));
        done_.await();
        require(peer_->heard().find(fuzz::Place::kSecret) == std::string::npos, "nothing from outside is sent");
        place().check();
    }

  private:
    [[nodiscard]] fuzz::LineHost& peer_host() { return served_ ? client_ : server_; }
    [[nodiscard]] fuzz::LineHost& job_host() { return served_ ? server_ : client_; }
    void run() { end_->run(line_, job_host()); }

    bool served_;
    fuzz::Line line_;
    fuzz::Done done_;
    std::shared_ptr<fuzz::JobEnd> end_;
    std::shared_ptr<fuzz::Peer> peer_;
    fuzz::LineHost client_;
    fuzz::LineHost server_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    place().reset();
    fuzz::play<Target>(std::span(data, size));
    return 0;
}
