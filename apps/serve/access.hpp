// Access control of a server's directory: applies the rights of a client's key, or the flags if clients have no keys.
#pragma once

#include <map>
#include <memory>
#include <mutex>
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
    /// The command must outlive it.
    Access(const RecvCommand& command, const AuthorizedKeys& keys);

    /// Replaces the keys for transfers that start from now on. A key with the same quota in the same directory keeps
    /// its account.
    void set_keys(const AuthorizedKeys& keys);
    /// True if `place` may be written; an error says why the sandbox forbids it.
    [[nodiscard]] Result<void> check_place(const std::string& place) const { return places_.check(place); }

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
    struct Grant {
        KeyRights rights;
        std::optional<transfer::Quota> quota{};  // all transfers of a key share one
    };
    using Grants = std::map<PublicKey, Grant>;
    [[nodiscard]] std::shared_ptr<const Grants> grants() const;
    /// Null: clients have no keys of their own, or the key was removed.
    [[nodiscard]] std::shared_ptr<const Grant> grant_of(const transfer::Client& client) const;

    const RecvCommand& command_;
    std::optional<transfer::ReceiptFile> receipt_;
    KnownPlaces places_;
    mutable std::mutex mutex_;  // guards grants_
    std::shared_ptr<const Grants> grants_;
};

}  // namespace udtx::apps
