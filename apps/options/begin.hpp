// How a run begins by its options, and what is reported of one that did not.
#pragma once

#include "common/log.hpp"
#include "options/common_options.hpp"
#include "report/final_report.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Of a run that ended before anything was exchanged.
[[nodiscard]] FinalReport never_began(const CommonOptions& options, const Error& error);
/// Opens the file of --log, if there is to be one.
[[nodiscard]] Result<void> open_log(Log& log, const CommonOptions& options);

}  // namespace udtx::apps
