#include "udtx/transfer/transfer.hpp"

#include <memory>
#include <span>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/old/leftovers.hpp"
#include "transfer/receipt/receipt_check.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/run/job_options.hpp"
#include "transfer/run/transfer_state.hpp"
#include "udtx/transfer/measure.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {
namespace {

/// Time for the receiver to tidy up and to report what it has.
constexpr Duration kAnswerWithin = std::chrono::milliseconds(1500);
/// Time for our own disk to commit complete files and to remove incomplete ones.
constexpr Duration kWindUpWithin = std::chrono::seconds(5);
/// After the confirmation only the receiver waits, for our close: this is time for three copies of it.
constexpr Duration kCloseSender = std::chrono::milliseconds(12);
/// Time for our confirmation to be sent, if no user there waits for the end of the connection.
constexpr Duration kCloseReceiver = std::chrono::milliseconds(10);

Outcome ended(const Result<Transfer>& transfer) {
    if (transfer) return transfer->wait();
    Outcome outcome;
    outcome.status = transfer.error();
    outcome.exact = true;
    return outcome;
}

Duration patience_of(const LinkOptions& link, bool streams) {
    return link.patience.value_or(streams ? Duration::zero() : kPatience);
}

TransferState::Setup setup_of(const LinkOptions& link, bool streams, Events events, Duration wind_up_within,
                              Duration leave_within) {
    return {.events = std::move(events),
            .patience = patience_of(link, streams),
            .wind_up_within = wind_up_within,
            .leave_within = leave_within};
}

Result<void> open_to_dial(TransferState& state, const std::string& host, std::uint16_t port,
                          const Credentials& credentials, const DialOptions& dial) {
    auto ways = plan_ways(host, port, dial);
    if (!ways) return ways.error();
    return state.open_to_dial(credentials, dial.link, std::move(*ways), dial);
}

/// A receipt covers one transfer.
Result<void> claim(const std::optional<ReceiptFile>& receipt) {
    if (!receipt || receipt->writer()->claim()) return {};
    return Error{ErrorCode::invalid_argument, "the receipt belongs to another transfer: each transfer needs its own"};
}

}  // namespace

Transfer::Transfer(std::unique_ptr<TransferState> state) : state_(std::move(state)) {}
Transfer::Transfer(Transfer&&) noexcept = default;
Transfer& Transfer::operator=(Transfer&&) noexcept = default;
Transfer::~Transfer() = default;

Progress Transfer::progress() const { return state_->progress(); }
Outcome Transfer::outcome() const { return state_->outcome(); }
bool Transfer::done() const noexcept { return state_->done(); }
bool Transfer::wait(std::chrono::milliseconds at_most) const { return state_->wait(at_most); }
Outcome Transfer::wait() const {
    state_->wait();
    return state_->outcome();
}
void Transfer::when_done(std::function<void()> call) { state_->when_done(std::move(call)); }
void Transfer::cancel(ErrorCode code, const std::string& reason) { state_->cancel(code, reason); }
std::optional<Error> Transfer::cancelled() const { return state_->cancelled(); }
bool Transfer::stuck() const noexcept { return state_->stuck(); }
void Transfer::set_max_rate(Rate rate) { state_->set_max_rate(rate); }
void Transfer::presume_fresh() { state_->presume_fresh(); }
void Transfer::suspect_peer() { state_->suspect_peer(); }
std::optional<ConnectionStats> Transfer::stats() const { return state_->stats(); }
Duration Transfer::stats_age() const { return state_->stats_age(); }
std::optional<Duration> Transfer::connected_for() const { return state_->connected_for(); }
std::optional<Duration> Transfer::handshake_time() const { return state_->handshake_time(); }
bool Transfer::lost() const { return state_->lost(); }
Duration Transfer::idle() const { return state_->idle(); }
Duration Transfer::elapsed() const { return state_->elapsed(); }
Address Transfer::local_address() const { return state_->local_address(); }
bool Transfer::heard() const noexcept { return state_->heard(); }
std::string Transfer::buffer_advice() const { return state_->buffer_advice(); }
Duration Transfer::protocol_time() const { return state_->protocol_time(); }
Duration Transfer::writing_time() const { return state_->writing_time(); }

Result<Transfer> start_send(SendRequest request) {
    return or_error([&]() -> Result<Transfer> {
        auto state = std::make_unique<TransferState>(setup_of(request.dial.link, is_stream(request.options.what),
                                                              std::move(request.events), kAnswerWithin, kCloseSender));
        const auto opened = open_to_dial(*state, request.host, request.port, request.credentials, request.dial);
        if (!opened) return opened.error();
        if (const auto claimed = claim(request.options.receipt); !claimed) return claimed.error();
        auto job = SendJob::create(job_options(request.options), state->job_done());
        if (!job) return job.error();
        state->set_job(std::move(*job), request.options);
        return TransferState::begun(std::move(state));
    });
}

Result<Transfer> start_receive(ReceiveRequest request) {
    return or_error([&]() -> Result<Transfer> {
        const Duration close = request.options.sender_started ? kCloseReceiver : io::kDrainAtMost;
        auto state = std::make_unique<TransferState>(setup_of(request.dial.link, request.options.stream_fd.has_value(),
                                                              std::move(request.events), kWindUpWithin, close));
        auto options = job_options(request, [self = state.get()](const auto& missing) { self->note_missing(missing); });
        if (!options) return options.error();
        const auto opened = open_to_dial(*state, request.host, request.port, request.credentials, request.dial);
        if (!opened) return opened.error();
        if (const auto claimed = claim(request.options.receipt); !claimed) return claimed.error();
        auto job = ReceiveJob::create(std::move(*options), state->job_done());
        if (!job) return job.error();
        state->set_job(std::move(*job), request.options.receipt);
        return TransferState::begun(std::move(state));
    });
}

Result<Transfer> start_measure(MeasureRequest request) {
    return or_error([&]() -> Result<Transfer> {
        auto state = std::make_unique<TransferState>(
            setup_of(request.dial.link, false, std::move(request.events), kAnswerWithin, io::kDrainAtMost));
        const auto opened = open_to_dial(*state, request.host, request.port, request.credentials, request.dial);
        if (!opened) return opened.error();
        state->set_job(std::make_unique<ProbeJob>(request.time, state->job_done()));
        return TransferState::begun(std::move(state));
    });
}

Result<Transfer> await_receiver(AwaitRequest request, SendOptions options, FoundSources found) {
    return or_error([&]() -> Result<Transfer> {
        auto setup =
            setup_of(request.link, is_stream(options.what), std::move(request.events), kWindUpWithin, io::kDrainAtMost);
        setup.peer_within = request.peer_within;
        auto state = std::make_unique<TransferState>(std::move(setup));
        if (const auto opened = state->open_to_wait(request); !opened) return opened.error();
        if (const auto claimed = claim(options.receipt); !claimed) return claimed.error();
        auto job = SendJob::create(job_options(options, found), state->job_done());
        if (!job) return job.error();
        state->set_job(std::move(*job), options);
        return TransferState::begun(std::move(state));
    });
}

Result<Transfer> await_sender(AwaitRequest request, LandingOptions options) {
    return or_error([&]() -> Result<Transfer> {
        auto setup = setup_of(request.link, options.stream_fd.has_value(), std::move(request.events), kWindUpWithin,
                              io::kDrainAtMost);
        setup.peer_within = request.peer_within;
        auto state = std::make_unique<TransferState>(std::move(setup));
        if (const auto opened = state->open_to_wait(request); !opened) return opened.error();
        if (const auto claimed = claim(options.receipt); !claimed) return claimed.error();
        auto job = ReceiveJob::create(job_options(options), state->job_done());
        if (!job) return job.error();
        state->set_job(std::move(*job), options.receipt);
        return TransferState::begun(std::move(state));
    });
}

Outcome send(SendRequest request) { return ended(start_send(std::move(request))); }
Outcome receive(ReceiveRequest request) { return ended(start_receive(std::move(request))); }

void prepare() { io::ProtocolThread::prepare(); }

Result<ReceiptFile> ReceiptFile::create(const std::string& path) {
    auto writer = ReceiptWriter::create(path);
    if (!writer) return writer.error();
    return ReceiptFile(std::move(*writer));
}

void ReceiptFile::discard() const noexcept { writer_->discard(); }

Result<CheckCounts> check_receipt(std::string_view receipt, const std::string& directory,
                                  const CheckCallbacks& callbacks) {
    const auto parsed = parse_receipt(receipt);
    if (!parsed) return parsed.error();
    const auto base = ConfinedDir::open(directory);
    if (!base) return base.error();
    return check_receipt(*parsed, *base, callbacks);
}

Result<CleanCounts> clean_leftovers(const std::string& directory, const CleanOptions& options,
                                    const CleanCallbacks& callbacks) {
    const auto base = ConfinedDir::open(directory);
    if (!base) return base.error();
    return clean_leftovers(*base, options, callbacks);
}

Result<std::vector<std::string>> pack(const Selection& selection) {
    PullWish wish;
    static_cast<Selection&>(wish.what) = selection;
    // A request needs a source. The side that unpacks this one knows the sources already.
    if (wish.what.sources.empty()) wish.what.sources = {"."};
    const auto messages = messages_of(wish);
    if (!messages) return messages.error();
    std::vector<std::string> blocks;
    for (const Message& message : *messages) {
        const std::vector<std::byte> bytes = bytes_of({message});
        blocks.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return blocks;
}

Result<Selection> unpack_selection(const std::vector<std::string>& blocks) {
    PullRequest request;
    for (const std::string& block : blocks) {
        const auto added = request.add_all(std::as_bytes(std::span(block.data(), block.size())));
        if (!added) return added.error();
    }
    if (!request.begun()) return Error{ErrorCode::protocol, "the selection names no source"};
    return Selection(request.take_wish().what);
}

}  // namespace udtx::transfer
