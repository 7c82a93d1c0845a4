// --receipt: written while the transfer runs, named when it was confirmed.
#pragma once

#include <optional>

#include "observe/final_report.hpp"
#include "options/common_options.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::apps {

/// None where that is not asked for.
[[nodiscard]] Result<std::optional<transfer::ReceiptFile>> open_receipt(const CommonOptions& options);
/// What was delivered counts, and what is wrong with its receipt is said.
void judge_receipt(FinalReport& report);

}  // namespace udtx::apps
