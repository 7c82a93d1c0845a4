#include "ssh/one_transfer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "common/units.hpp"
#include "control/control_socket.hpp"
#include "observe/final_report.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

/// If ssh is gone and no data moves over UDP for this time, the other side is gone too. A peer that answers without
/// data may only have lost its ssh, and its disk may be slow.
constexpr Duration kPatienceWithoutSsh = std::chrono::seconds(4);

}  // namespace

ExitCode serve_requested(RequestedTransfer requested, BootstrapChannel& channel, SignalWaiter& signals) {
    const CommonOptions& options = requested.options;
    const bool resumable = requested.request.fields.number("transfer").value_or(0) != 0;
    std::optional<ExitCode> lost;
    for (;;) {
        transfer::AwaitRequest await{.credentials = requested.request.credentials,
                                     .link = options.link(requested.config)};
        // The datagrams of a new connection wait in the socket while no transfer reads it.
        await.socket.reset(::fcntl(requested.socket.fd.get(), F_DUPFD_CLOEXEC, 0));
        if (lost) await.peer_within = options.timeout.value_or(transfer::kPatience);
        auto transfer = await.socket ? requested.await(std::move(await), lost.has_value())
                                     : Error{ErrorCode::network, std::generic_category().message(errno)};
        if (!transfer) return lost ? *lost : channel.refuse(transfer.error());
        if (!lost) channel.answer(requested.answer);
        const ExitCode code = OneTransfer(*transfer, requested.end, channel, signals).serve(requested.card);
        if (!transfer->connected_for() && lost) return *lost;
        if (!resumable || !transfer->lost() || channel.closed()) return code;
        lost = code;
    }
}

OneTransfer::OneTransfer(transfer::Transfer& transfer, DataEnd end, BootstrapChannel& channel, SignalWaiter& signals)
    : transfer_(transfer), channel_(channel), signals_(signals), observer_(end, false, {}) {
    transfer_.when_done([&signals] { signals.wake(); });
}

ExitCode OneTransfer::serve(TransferCard card) {
    card.port = transfer_.local_address().port;
    // Without a control socket, the transfer only cannot be listed.
    auto control =
        ControlSocket::open(control_handler(nullptr, {[&] { return status_json(card, observer_.latest()); },
                                                      [&] { return status_lines(card, observer_.latest()); }}));
    const bool wound_up = wait();
    const ExitCode code = this->code();
    if (control) (*control).reset();  // the process may end here, without destructors
    if (!wound_up || code == ExitCode::interrupted) _exit(static_cast<int>(code));
    return code;
}

bool OneTransfer::wait() {
    const Instant start = monotonic_now();
    while (!transfer_.done()) {
        const auto signal = signals_.wait(SignalWaiter::kTurn);
        const Instant now = monotonic_now();
        if (signal && !interrupt(*signal, now)) return false;
        const bool alone = channel_.closed();
        if (!transfer_.connected_for()) {
            if (signal || alone) return true;
            tell_heard();
            continue;
        }
        if (transfer_.stuck()) return false;
        observer_.look({.at = now - start, .progress = transfer_.progress()});
        if (!alone) continue;
        transfer_.suspect_peer();
        if (!transfer_.cancelled() && transfer_.idle() >= kPatienceWithoutSsh) {
            transfer_.cancel(ErrorCode::timeout, "nothing moved for " + format_elapsed(kPatienceWithoutSsh));
        }
    }
    return true;
}

void OneTransfer::tell_heard() {
    if (told_heard_ || !transfer_.heard()) return;
    told_heard_ = true;
    BootstrapFields fields;
    fields.add("heard", "1");
    channel_.answer(fields);
}

bool OneTransfer::interrupt(int signal, Instant now) {
    const auto wish = interruption_.on_signal(signal, now);
    if (wish != Interruption::Wish::wind_up) return wish == Interruption::Wish::repeated;
    transfer_.cancel(ErrorCode::interrupted, std::string("interrupted by ") + signal_name(signal) + " there");
    return true;
}

ExitCode OneTransfer::code() const {
    if (interruption_.signal() != 0) return ExitCode::interrupted;
    return transfer_.connected_for() ? exit_code_for(transfer_.outcome()) : ExitCode::udp_blocked;
}

}  // namespace udtx::apps
