// Access control of a server's directory: applies the rights of a client's key, or the flags if clients have no keys.
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

/// Any thread may use it after all places are noted.
class Access {
  public:
    /// Both must outlive it.
    Access(const RecvCommand& command, const AuthorizedKeys& keys);

    /// Notes the directories that the sandbox permits for writing.
    void note_places(const std::vector<std::string>& directories) { places_.note(directories); }
    /// For a receiver of one transfer.
    void set_receipt(std::optional<transfer::ReceiptFile> receipt) { receipt_ = std::move(receipt); }

    /// Name of the client for messages, to follow its address: " (bob)"; empty if all clients use the pre-shared key.
    [[nodiscard]] std::string name_of(const transfer::Client& client) const;
    /// The client's directory, for listings; empty: none.
    [[nodiscard]] std::string place_of(const transfer::Client& client) const;
    /// The rate of the client's key.
    [[nodiscard]] Rate rate_of(const transfer::Client& client) const;
    /// The place and the options for files from the client. refused: the client may not send.
    [[nodiscard]] Result<transfer::LandingOptions> push(const transfer::Client& client) const;
    /// The place from which the client may fetch. refused: the client may not fetch.
    [[nodiscard]] Result<transfer::OfferOptions> pull(const transfer::Client& client) const;

  private:
    /// Null: clients have no keys of their own.
    [[nodiscard]] const KeyRights* rights_of(const transfer::Client& client) const;

    const RecvCommand& command_;
    const AuthorizedKeys& keys_;
    std::optional<transfer::ReceiptFile> receipt_;
    std::map<const KeyRights*, transfer::Quota> quotas_;  // all transfers of a key share one
    KnownPlaces places_;
};

}  // namespace udtx::apps
