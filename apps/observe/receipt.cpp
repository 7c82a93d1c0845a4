#include "observe/receipt.hpp"

#include <utility>

namespace udtx::apps {

Result<std::optional<transfer::ReceiptFile>> open_receipt(const CommonOptions& options) {
    if (options.receipt_text.empty()) return std::optional<transfer::ReceiptFile>();
    auto receipt = transfer::ReceiptFile::create(options.receipt_text);
    if (!receipt) return Error{receipt.error().code, "--receipt: " + receipt.error().message};
    return std::optional(std::move(*receipt));
}

void judge_receipt(FinalReport& report) {
    const Result<void>& receipt = report.outcome.receipt;
    if (receipt || report.code != ExitCode::ok) return;
    report.code = exit_code_for(receipt.error().code);
    report.error = "everything was delivered, but " + receipt.error().message;
}

}  // namespace udtx::apps
