// Adds up a transfer over all its connections. Data that an earlier connection delivered counts once, although a later
// connection finds it at the receiver.
#pragma once
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::apps {

class Account {
  public:
    /// Converts the current connection's figures to those of the whole transfer.
    [[nodiscard]] transfer::Progress whole(transfer::Progress now) const;
    [[nodiscard]] transfer::Outcome whole(transfer::Outcome now) const;
    /// Call it when a connection has ended, with its figures converted by whole().
    void carry(const transfer::Progress& progress, const transfer::Outcome& outcome);

  private:
    bool carried_ = false;
    transfer::Progress progress_;
    transfer::Outcome outcome_;
};

}  // namespace udtx::apps
