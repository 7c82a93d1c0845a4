#include "observe/receipt.hpp"

#include <utility>

namespace udtx::apps {

Result<std::unique_ptr<transfer::ReceiptWriter>> open_receipt(const std::string& path) {
    if (path.empty()) return std::unique_ptr<transfer::ReceiptWriter>();
    auto receipt = transfer::ReceiptWriter::create(path);
    if (!receipt) return Error{receipt.error().code, "--receipt: " + receipt.error().message};
    return receipt;
}

void finish_receipt(transfer::ReceiptWriter* receipt, const transfer::OpenKept& open_kept, FinalReport& report) {
    if (receipt != nullptr && report.dry_run) return receipt->discard();  // asked for at the other end
    const auto& status = report.outcome.status;
    if (receipt == nullptr || (!status.ok() && status.error().code != ErrorCode::partial)) return;
    const auto finished = receipt->finish(open_kept);
    if (finished || report.code != ExitCode::ok) return;
    report.code = exit_code_for(finished.error().code);
    report.error = "everything was delivered, but " + finished.error().message;
}

void settle_receipt(transfer::ReceiptWriter* receipt, bool last, const transfer::OpenKept& open_kept,
                    FinalReport& report) {
    if (last) return finish_receipt(receipt, open_kept, report);
    if (receipt != nullptr) receipt->discard();
}

}  // namespace udtx::apps
