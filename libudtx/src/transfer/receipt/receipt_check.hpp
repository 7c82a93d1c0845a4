// Compares a directory with a receipt.
#pragma once

#include "transfer/file/confined_dir.hpp"
#include "transfer/receipt/receipt.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::transfer {

/// Symbolic links in the path of a file are not followed.
[[nodiscard]] CheckCounts check_receipt(const Receipt& receipt, const ConfinedDir& base,
                                        const CheckCallbacks& callbacks);

}  // namespace udtx::transfer
