// Translates the options of a program into those of the jobs.
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
/// For a sender that was started by other means, with the sources that it found.
[[nodiscard]] SendJobOptions job_options(const SendOptions& options, const FoundSources& found);
[[nodiscard]] ReceiveJobOptions job_options(const LandingOptions& options);

using NoteMissing = std::function<void(const std::vector<message::Sources::Missing>&)>;
/// `missing` is called on the protocol thread with the sources that do not exist. invalid_argument: more sources or
/// names than one request can hold.
[[nodiscard]] Result<ReceiveJobOptions> job_options(const ReceiveRequest& request, NoteMissing missing);

/// Opens the requested sources below the offered directory. refused: a source leads out of that directory; file_io:
/// none of them exists.
[[nodiscard]] Result<ConfinedSources> open_offered(const OfferOptions& options, const PullWish& wish);

}  // namespace udtx::transfer
