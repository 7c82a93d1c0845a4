// Whom a server serves, with what was seen of each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/log.hpp"
#include "serve/access.hpp"
#include "serve/watched_transfer.hpp"
#include "udtx/rate.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {

/// Any thread.
class TransferTable {
  public:
    using Ask = std::function<std::vector<transfer::ServedTransfer>()>;
    using Transfers = std::vector<std::shared_ptr<WatchedTransfer>>;

    /// Both outlive it. `told`: the rate that handshakes tell. `ask`: for what transfer::Server::transfers() gives.
    TransferTable(const Access& access, Log& log, Rate told, Ask ask)
        : access_(access), log_(log), told_(told), ask_(std::move(ask)) {}

    /// Those whose end has not been told yet.
    [[nodiscard]] Transfers under_way();
    /// Of one that the server still has.
    [[nodiscard]] std::shared_ptr<WatchedTransfer> find(const transfer::ServedTransfer& transfer);

  private:
    using Known = std::map<std::uint64_t, std::shared_ptr<WatchedTransfer>>;
    std::shared_ptr<WatchedTransfer> known(const transfer::ServedTransfer& transfer);

    const Access& access_;
    Log& log_;
    const Rate told_;
    const Ask ask_;
    std::mutex mutex_;  // guards what follows
    Known known_;       // by Client::number
};

}  // namespace udtx::apps
