#include "transfer/run/setup.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "io/packet_threads.hpp"
#include "io/path_plan.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/disk_quota.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/old/leftovers.hpp"
#include "transfer/source/outgoing.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {
namespace {

/// The most missing sources that one message can list.
constexpr std::size_t kMostMissing = 16;

std::uint64_t number_of(const ReceiveRequest& request) {
    const ReceiveOptions& options = request.options;
    if (!options.resume || options.stream_fd) return 0;
    if (options.transfer != 0) return options.transfer;
    std::vector<std::string> sources;
    for (const std::string& source : options.what.sources) sources.push_back('/' + source);
    std::error_code ignored;
    const auto destination = std::filesystem::absolute(options.destination, ignored).lexically_normal();
    return transfer_number(request.host + ':' + std::to_string(request.port), "/", sources, destination.string());
}

}  // namespace

SendRun run_of(const SendOptions& options) {
    SendRun run;
    if (!options.resume || is_stream(options.what)) return run;
    run.transfer =
        options.transfer != 0 ? options.transfer : transfer_number(options.what.sources, options.destination);
    return run;
}

SendRun run_of(const SendOptions& options, const FoundSources& found) {
    SendRun run = run_of(options);
    std::vector<FailedFile> missing = found.missing;
    if (missing.size() > kMostMissing) missing.resize(kMostMissing);
    run.set_found(found.shape, std::move(missing));
    return run;
}

Result<PullOrder> pull_order(const ReceiveRequest& request, NoteMissing missing) {
    const ReceiveOptions& options = request.options;
    const bool stream = options.stream_fd.has_value();
    PullWish wish{.what = options.what, .transfer = number_of(request), .stream = stream};
    std::vector<Message> messages;
    if (!options.sender_started) {
        std::vector<std::string>& sources = wish.what.sources;
        if (wish.what.names && !sources.empty() && !sources.front().ends_with('/')) sources.front() += '/';
        auto made = messages_of(wish);
        if (!made) return made.error();
        messages = std::move(*made);
    }
    const auto place = [destination = options.destination, transfer = wish.transfer, dry_run = wish.what.dry_run,
                        stream, missing = std::move(missing)](const message::Sources& found) {
        missing(found.missing);
        return stream ? LandingPlace{} : find_landing(destination, found.shape, transfer, dry_run);
    };
    const auto how = options.sender_started ? AskedFor::Sources::patterns : AskedFor::Sources::names;
    return PullOrder{.request = std::move(messages), .asked = AskedFor(std::move(wish), how), .place = place};
}

LandingOptions landing_of(const ReceiveOptions& options) {
    return {.stream_fd = options.stream_fd,
            .resume = options.resume,
            .receipt = options.receipt,
            .planned = options.planned};
}

Result<ConfinedSources> open_offered(const OfferOptions& options, const PullWish& wish) {
    const auto base = ConfinedDir::open_below(options.directory, options.below);
    if (!base) return base.error();
    return open_sources_below(*base, wish.what.sources, wish.stream);
}

Quota::Quota(std::uint64_t bytes) : state_(std::make_shared<DiskQuota>(bytes)) {}

SentFiles::SentFiles() : state_(std::make_shared<SentNames>()) {}

static_assert(kMaxThreads == io::kMaxThreads);

Result<std::vector<proto::PathAddresses>> plan_paths(const std::string& host, std::uint16_t port,
                                                     const PeerOptions& peer) {
    const auto addresses = io::peer_addresses(host, port, peer.choice, peer.addresses);
    if (!addresses) return addresses.error();
    return io::plan_paths(peer.paths, *addresses, peer.choice, peer.skip_absent_paths);
}

TransportConfig transport_config(const ConnectionOptions& connection) {
    TransportConfig config = connection.transport;
    for (std::uint64_t* window : {&config.stream_window, &config.connection_window}) {
        *window = std::max(*window, 2 * kPieceBytes);
    }
    return config;
}

Result<CleanCounts> clean_leftovers(const std::string& directory, const CleanOptions& options,
                                    const CleanCallbacks& callbacks) {
    const auto base = ConfinedDir::open(directory);
    if (!base) return base.error();
    return clean_leftovers(*base, options, callbacks);
}

}  // namespace udtx::transfer
