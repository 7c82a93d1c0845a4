#include "serve/watched_transfer.hpp"

#include <algorithm>
#include <utility>

#include "udtx/address.hpp"

namespace udtx::apps {

WatchedTransfer::WatchedTransfer(transfer::ServedTransfer transfer, const Access& access, Rate told)
    : transfer_(std::move(transfer)),
      peer_(to_string(transfer_.client().address)),
      who_(peer_ + access.name_of(transfer_.client())),
      directory_(access.place_of(transfer_.client())),
      most_(access.rate_of(transfer_.client())),
      cap_(std::min(told, most_)),
      observer_(DataEnd::receiver, false, peer_) {}

void WatchedTransfer::look(Duration protocol) {
    if (transfer_.sends()) observer_.become(DataEnd::sender);
    observer_.look({.at = transfer_.elapsed(),
                    .progress = transfer_.progress(),
                    .stats = transfer_.stats(),
                    .protocol = protocol,
                    .process = process_time(),
                    .writing = transfer_.writing_time(),
                    .cap = cap_});
}

void WatchedTransfer::keep_below(Rate rate) {
    cap_ = std::min(rate, most_);
    transfer_.set_max_rate(cap_);
}

}  // namespace udtx::apps
