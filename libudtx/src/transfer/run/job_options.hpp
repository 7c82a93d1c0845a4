// From what a program says of a transfer to what the jobs are told.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "transfer/job/receive_job.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/source/source_tree.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

[[nodiscard]] bool is_stream(const Selection& what);

[[nodiscard]] SendJobOptions job_options(const SendOptions& options);
/// Of a sender that was started by other means.
[[nodiscard]] SendJobOptions job_options(const SendOptions& options, const FoundSources& found);
[[nodiscard]] ReceiveJobOptions job_options(const LandingOptions& options);

using NoteMissing = std::function<void(const std::vector<message::Sources::Missing>&)>;
/// `missing` is told of sources that are not there, on the protocol thread. invalid_argument: more is asked for than
/// one request takes.
[[nodiscard]] Result<ReceiveJobOptions> job_options(const ReceiveRequest& request, NoteMissing missing);

/// What is asked for below what is offered. refused: it leads out of that; file_io: there is none of it.
[[nodiscard]] Result<ConfinedSources> open_offered(const OfferOptions& options, const PullWish& wish);

}  // namespace udtx::transfer
