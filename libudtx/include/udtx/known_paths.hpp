// What the connections of this process measured of their paths. A later connection starts faster with it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/congestion.hpp"
#include "udtx/credentials.hpp"
#include "udtx/export.hpp"
#include "udtx/rate.hpp"

namespace udtx {

/// Keeps a KnownPath for each peer and pair of addresses. A connection between other addresses, or to a peer with
/// another key, finds nothing, as draft-ietf-tsvwg-careful-resume requires. Sessions look here once the peer has proved
/// its key, and add what they measured at their end. With a pre-shared key the peer has no key of its own, so that they
/// do neither. Any thread may call all functions.
class UDTX_EXPORT KnownPaths {
  public:
    /// What is known of one path.
    struct Entry {
        PublicKey peer;  ///< key that the peer has proved
        Address local;   ///< address of this end; its port is ignored
        Address remote;  ///< address of the peer; its port is ignored
        KnownPath path;  ///< what was measured; capacity zero: earlier measurements are wrong
    };
    /// Limit of entries. Beyond it the oldest one is dropped.
    static constexpr std::size_t kMost = 256;

    KnownPaths();
    ~KnownPaths();
    KnownPaths(const KnownPaths&) = delete;
    KnownPaths& operator=(const KnownPaths&) = delete;

    /// The entries that all sessions of the process use.
    [[nodiscard]] static KnownPaths& of_process();

    /// Adds an entry. It replaces an earlier measurement of the same path, and a later one stays. An entry without one
    /// of the addresses is ignored.
    void note(const Entry& entry);
    /// Returns what is known of a path, for a connection that starts; nullopt: nothing, it is older than
    /// KnownPath::kLife, it turned out wrong, or another connection of this process has just got it. Several that start
    /// at once would together send more than the path carried.
    [[nodiscard]] std::optional<KnownPath> take(const PublicKey& peer, const Address& local, const Address& remote,
                                                Instant now);
    /// All entries of the last KnownPath::kLife, also those that say that earlier measurements are wrong.
    [[nodiscard]] std::vector<Entry> entries(Instant now) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace udtx
