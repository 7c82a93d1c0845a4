#include "serve/transfer_table.hpp"

namespace udtx::apps {

TransferTable::Transfers TransferTable::under_way() {
    const std::lock_guard lock(mutex_);
    Transfers here;
    Known still;
    // Asks under the lock. An older answer may lack a new transfer, which would then be forgotten.
    for (const transfer::ServedTransfer& transfer : ask_()) {
        const auto& watched = still.emplace(transfer.client().number, known(transfer)).first->second;
        if (!watched->told()) here.push_back(watched);
    }
    known_ = std::move(still);
    return here;
}

std::shared_ptr<WatchedTransfer> TransferTable::find(const transfer::ServedTransfer& transfer) {
    const std::lock_guard lock(mutex_);
    return known(transfer);
}

std::shared_ptr<WatchedTransfer> TransferTable::known(const transfer::ServedTransfer& transfer) {
    auto& watched = known_[transfer.client().number];
    if (!watched) {
        watched = std::make_shared<WatchedTransfer>(transfer, access_, told_);
        log_.detail("serving " + watched->who());
    }
    return watched;
}

}  // namespace udtx::apps
