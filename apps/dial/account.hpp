// One account of a transfer over all the connections that it needs: what an earlier one proved counts once, and is no
// news when a later one finds it at the receiver.
#pragma once
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::apps {

class Account {
  public:
    /// Of the present connection, as part of the whole.
    [[nodiscard]] transfer::Progress whole(transfer::Progress now) const;
    [[nodiscard]] transfer::Outcome whole(transfer::Outcome now) const;
    /// A connection is over; what it came to is given as part of the whole.
    void carry(const transfer::Progress& progress, const transfer::Outcome& outcome);

  private:
    bool carried_ = false;
    transfer::Progress progress_;
    transfer::Outcome outcome_;
};

}  // namespace udtx::apps
