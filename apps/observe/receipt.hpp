// --receipt: written while the transfer runs, named when it was confirmed.
#pragma once

#include <memory>
#include <string>

#include "observe/final_report.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Nothing where `path` is empty.
Result<std::unique_ptr<transfer::ReceiptWriter>> open_receipt(const std::string& path);
/// For a transfer that was confirmed, whole or in part. What goes wrong is put into the report: code and sentence.
void finish_receipt(transfer::ReceiptWriter* receipt, const transfer::OpenKept& open_kept, FinalReport& report);
/// The same at the last attempt; nothing stays of one that another follows.
void settle_receipt(transfer::ReceiptWriter* receipt, bool last, const transfer::OpenKept& open_kept,
                    FinalReport& report);

}  // namespace udtx::apps
