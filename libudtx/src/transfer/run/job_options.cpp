#include "transfer/run/job_options.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/state_access.hpp"
#include "io/lanes.hpp"
#include "io/path_plan.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/landing/disk_quota.hpp"
#include "transfer/source/outgoing.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {
namespace {

/// The most missing sources that one message can list.
constexpr std::size_t kMostMissing = 16;

/// "dir/" means the contents of the directory. A list of names is relative to the contents of the source.
void spell_out(std::vector<std::string>& sources, bool named) {
    for (std::string& source : sources) {
        if (source.ends_with('/')) source += '.';
    }
    if (named && !sources.empty() && !sources.front().ends_with("/.")) sources.front() += "/.";
}

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

Result<LandingPlace> find_place(const ReceiveOptions& options, SourceShape shape, std::uint64_t transfer) {
    if (options.stream_fd) return LandingPlace{};
    return find_landing(options.destination, shape, transfer, options.what.dry_run);
}

}  // namespace

bool is_stream(const Selection& what) { return what.sources.size() == 1 && what.sources.front() == "-"; }

SendJobOptions job_options(const SendOptions& options) {
    SendJobOptions job;
    static_cast<Selection&>(job) = options.what;
    job.destination = options.destination;
    job.planned = options.planned;
    const bool resumes = options.resume && !is_stream(options.what);
    if (resumes) {
        job.transfer =
            options.transfer != 0 ? options.transfer : transfer_number(options.what.sources, options.destination);
    }
    if (!is_stream(options.what)) spell_out(job.sources, job.names.has_value());
    job.stream_fd = options.stream_fd;
    if (options.sent) job.sent = StateAccess::of(*options.sent).get();
    if (options.receipt) job.receipt = StateAccess::of(*options.receipt).get();
    job.fresh = options.fresh;
    job.missing = options.missing;
    return job;
}

SendJobOptions job_options(const SendOptions& options, const FoundSources& found) {
    SendJobOptions job = job_options(options);
    job.role = Role::server;
    job.asked_for = true;
    if (!found.missing.empty()) job.erase = false;
    job.found = message::Sources{found.shape, {}};
    for (const FailedFile& file : found.missing) {
        if (job.found->missing.size() == kMostMissing) break;
        job.found->missing.push_back({file.path, file.reason});
    }
    return job;
}

ReceiveJobOptions job_options(const LandingOptions& options) {
    ReceiveJobOptions job;
    job.directory = options.directory;
    job.below = options.below;
    job.to_stream = options.stream_fd.has_value();
    job.stream_fd = options.stream_fd.value_or(-1);
    job.rename = options.rename;
    job.resume = options.resume;
    job.allow_erase = options.allow_erase;
    job.whose = options.whose;
    job.room.min_free = options.min_free;
    if (options.quota) job.room.quota = StateAccess::of(*options.quota);
    job.keep_base = options.keep_base;
    job.allow_set_id = options.allow_set_id;
    job.dry_run = options.dry_run;
    job.overwrite = options.overwrite;
    if (options.receipt) job.receipt = StateAccess::of(*options.receipt).get();
    job.planned = options.planned;
    return job;
}

Result<ReceiveJobOptions> job_options(const ReceiveRequest& request, NoteMissing missing) {
    const ReceiveOptions& options = request.options;
    ReceiveJobOptions job;
    job.role = Role::client;
    job.resume = options.resume;
    job.overwrite = options.what.overwrite;
    job.to_stream = options.stream_fd.has_value();
    job.stream_fd = options.stream_fd.value_or(-1);
    job.allow_erase = options.what.erase;
    job.allow_set_id = options.what.set_id;
    job.dry_run = options.what.dry_run;
    job.planned = options.planned;
    job.confirms_last = options.sender_started;
    if (options.receipt) job.receipt = StateAccess::of(*options.receipt).get();

    const std::uint64_t transfer = number_of(request);
    PullWish wish;
    static_cast<Selection&>(wish.what) = options.what;
    wish.what.transfer = transfer;
    wish.stream = job.to_stream;
    Result<std::vector<Message>> messages = std::vector<Message>();
    if (!options.sender_started) {
        if (wish.what.names && !wish.what.sources.empty() && !wish.what.sources.front().ends_with('/')) {
            wish.what.sources.front() += '/';
        }
        messages = messages_of(wish);
    }
    if (!messages) return messages.error();
    const auto how = options.sender_started ? AskedFor::Sources::patterns : AskedFor::Sources::names;
    job.pull = PullOrder{std::move(*messages), AskedFor(std::move(wish), how),
                         [options, transfer, missing = std::move(missing)](const message::Sources& found) {
                             missing(found.missing);
                             return find_place(options, found.shape, transfer);
                         }};
    return job;
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
    auto candidates = io::plan_paths(peer.paths, *addresses, peer.choice, peer.skip_absent_paths);
    if (!candidates || !peer.paths.empty()) return candidates;
    for (const Address& address : peer.also) candidates->push_back({.local = {}, .remote = address, .options = {}});
    return candidates;
}

TransportConfig transport_config(const ConnectionOptions& connection) {
    TransportConfig config = connection.transport;
    for (std::uint64_t* window : {&config.stream_window, &config.connection_window}) {
        *window = std::max(*window, 2 * kPieceBytes);
    }
    return config;
}

io::Driver::Options driver_options(const ConnectionOptions& connection) {
    io::Driver::Options options;
    options.threads = connection.threads;
    return options;
}

}  // namespace udtx::transfer
