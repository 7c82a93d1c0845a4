// The clients that a server serves, with the observations of each.
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

/// Any thread may use it.
class TransferTable {
  public:
    using Ask = std::function<std::vector<transfer::ServedTransfer>()>;
    using Transfers = std::vector<std::shared_ptr<WatchedTransfer>>;

    /// `access` and `log` must outlive it. `told`: the rate that handshakes announce. `ask` returns
    /// transfer::Server::transfers().
    TransferTable(const Access& access, Log& log, Rate told, Ask ask)
        : access_(access), log_(log), told_(told), ask_(std::move(ask)) {}

    /// Transfers whose end is not reported yet.
    [[nodiscard]] Transfers under_way();
    /// Finds a transfer that the server still has.
    [[nodiscard]] std::shared_ptr<WatchedTransfer> find(const transfer::ServedTransfer& transfer);

  private:
    using Known = std::map<std::uint64_t, std::shared_ptr<WatchedTransfer>>;
    std::shared_ptr<WatchedTransfer> known(const transfer::ServedTransfer& transfer);

    const Access& access_;
    Log& log_;
    const Rate told_;
    const Ask ask_;
    std::mutex mutex_;  // guards the members below
    Known known_;       // key: Client::number
};

}  // namespace udtx::apps
