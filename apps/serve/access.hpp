// Who may do what in a server's directory: what the rights of a key, or where there are none the flags, make of a wish.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options/recv_command.hpp"
#include "serve/authorized_keys.hpp"
#include "serve/setup.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {

/// Any thread, once all places are noted.
class Access {
  public:
    /// Both outlive it.
    Access(const RecvCommand& command, const AuthorizedKeys& keys);

    /// What the sandbox lets be written.
    void note_places(const std::vector<std::string>& directories) { places_.note(directories); }
    /// Of a receiver of one transfer.
    void set_receipt(std::optional<transfer::ReceiptFile> receipt) { receipt_ = std::move(receipt); }

    /// For people, to be put behind an address: " (bob)", or empty where all have the pre-shared key.
    [[nodiscard]] std::string name_of(const transfer::Client& client) const;
    /// The directory where it is at work, for whoever lists it; empty: none.
    [[nodiscard]] std::string place_of(const transfer::Client& client) const;
    /// The rate of its key.
    [[nodiscard]] Rate rate_of(const transfer::Client& client) const;
    /// Where it may send to, and what. refused: nothing.
    [[nodiscard]] Result<transfer::LandingOptions> push(const transfer::Client& client) const;
    /// From where it may fetch. refused: nothing.
    [[nodiscard]] Result<transfer::OfferOptions> pull(const transfer::Client& client) const;

  private:
    /// Null: they have no keys of their own.
    [[nodiscard]] const KeyRights* rights_of(const transfer::Client& client) const;

    const RecvCommand& command_;
    const AuthorizedKeys& keys_;
    std::optional<transfer::ReceiptFile> receipt_;
    std::map<const KeyRights*, transfer::Quota> quotas_;  // all transfers of a key share one
    KnownPlaces places_;
};

}  // namespace udtx::apps
