// What a program's request becomes: the facts of one run, addresses, and settings of a connection.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "io/protocol_thread.hpp"
#include "os/system.hpp"
#include "proto/path_context.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/job/receive_job.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/source/source_tree.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

[[nodiscard]] SendRun run_of(const SendOptions& options);
/// For a sender that was started by other means, with the sources that it found.
[[nodiscard]] SendRun run_of(const SendOptions& options, const FoundSources& found);

using NoteMissing = std::function<void(const std::vector<message::Sources::Missing>&)>;
/// `missing` is called on the protocol thread with the sources that do not exist. invalid_argument: more sources or
/// names than one request can hold.
[[nodiscard]] Result<PullOrder> pull_order(const ReceiveRequest& request, NoteMissing missing);
/// The request decides what the sender may do, and where the data goes: only these options are left.
[[nodiscard]] LandingOptions landing_of(const ReceiveOptions& options);

/// Opens the requested sources below the offered directory. refused: a source leads out of that directory; file_io:
/// none of them exists.
[[nodiscard]] Result<ConfinedSources> open_offered(const OfferOptions& options, const PullWish& wish);

/// The paths to connect over: those that were requested, or else the host's addresses. It resolves names, and blocks.
/// network: the name is unknown, or no path exists at present. invalid_argument: this host cannot have such a path.
[[nodiscard]] Result<std::vector<proto::PathAddresses>> plan_paths(const std::string& host, std::uint16_t port,
                                                                   const PeerOptions& peer);

/// A receiver releases a piece of a file once all of it has arrived, so each window has room for two pieces.
[[nodiscard]] TransportConfig transport_config(const ConnectionOptions& connection);

// Converts an exception about a lack of system resources into an error.

/// For exceptions of the event loop, of threads and of memory allocation.
template <class Fn>
auto or_error(Fn&& fn) -> decltype(fn()) {
    try {
        return fn();
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    } catch (const std::exception& lack) {
        return Error{ErrorCode::no_resources, lack.what(), error_number_of(lack)};
    }
}

}  // namespace udtx::transfer
