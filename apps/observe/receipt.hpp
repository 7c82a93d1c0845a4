// --receipt: the file is written during the transfer, and gets its name when the transfer is confirmed.
#pragma once

#include <optional>

#include "observe/final_report.hpp"
#include "options/common_options.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::apps {

/// Empty if the user did not ask for a receipt.
[[nodiscard]] Result<std::optional<transfer::ReceiptFile>> open_receipt(const CommonOptions& options);
/// Reports a fault of the receipt. The files remain delivered.
void judge_receipt(FinalReport& report);

}  // namespace udtx::apps
