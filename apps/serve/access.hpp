// Who may do what in a server's directory: what the rights of a key, or where there are none the flags, make of a wish.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "options/recv_command.hpp"
#include "serve/authorized_keys.hpp"
#include "serve/setup.hpp"
#include "transfer/job/served_job.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// A peer as its handshake showed it.
struct Visitor {
    const KeyRights* rights = nullptr;  ///< null: no keys of their own, all have the pre-shared one
    std::uint64_t key = 0;              ///< a number of its key; 0 without `rights`
    std::string name;                   ///< for people, to be put behind an address: " (bob)", or empty
};

/// Any thread, once all places are noted.
class Access {
  public:
    /// All outlive it. `receipt`: of a receiver of one transfer; may be null.
    Access(const RecvCommand& command, const AuthorizedKeys& keys, transfer::ReceiptWriter* receipt);

    /// What the sandbox lets be written.
    void note_places(const std::vector<std::string>& directories) { places_.note(directories); }

    /// `key`: as a connection gives it.
    [[nodiscard]] Visitor visitor(std::span<const std::byte> key) const;
    /// The directory where it is at work, for whoever lists it; empty: none.
    [[nodiscard]] std::string place_of(const Visitor& visitor) const;
    /// What it may send, and where to. refused: nothing.
    [[nodiscard]] Result<transfer::ReceiveJobOptions> push(const Visitor& visitor) const;
    /// What of its wish it may fetch. refused: nothing.
    [[nodiscard]] Result<transfer::ConfinedSources> pull(const Visitor& visitor, const transfer::PullWish& wish) const;

  private:
    const RecvCommand& command_;
    const AuthorizedKeys& keys_;
    transfer::ReceiptWriter* receipt_;
    std::map<const KeyRights*, std::shared_ptr<transfer::DiskQuota>> quotas_;  // all transfers of a key share one
    KnownPlaces places_;
};

}  // namespace udtx::apps
