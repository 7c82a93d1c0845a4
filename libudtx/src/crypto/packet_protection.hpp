// Protection of packets: keys, nonces, key updates, replay.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"

namespace udtx::crypto {

// The key of one direction in one generation, and the nonce of a packet.

struct PacketKey {
    std::unique_ptr<Aead> aead;
    Nonce iv{};
    /// The same key again for each packet thread, because an Aead is not thread-safe.
    std::vector<std::unique_ptr<Aead>> packet_threads{};
};

/// iv xor (path id as 32-bit big endian || packet number as 64-bit big endian).
[[nodiscard]] Nonce make_nonce(const Nonce& iv, PathId path, PacketNumber number) noexcept;

/// HKDF-Expand with the info of HKDF-Expand-Label (RFC 8446, section 7.1), an empty context and labels "udtx2 <label>".
/// The info is: output length as u16, label length as u8, label, 0.
void expand_label(Provider& provider, const Secret& secret, std::string_view label, std::span<std::byte> out);

/// Derives the key (label "key") and the IV (label "iv") from one traffic secret.
[[nodiscard]] PacketKey derive_packet_key(Provider& provider, Cipher cipher, const Secret& secret,
                                          std::size_t packet_threads = 0);

/// Protects the handshake packets against corruption and off-path forgery. It does not protect them from a reader of
/// the first packet: the input is public, as with QUIC's Initial keys (RFC 9001, section 5.2).
struct InitialKeys {
    PacketKey client;  ///< seals packets from the client
    PacketKey server;
};

/// Derives the keys from the destination id of the client's first packet. The cipher is AES-256-GCM.
[[nodiscard]] InitialKeys derive_initial(Provider& provider, ConnectionId original_destination);

using Tag = std::array<std::byte, kTagBytes>;

/// Tag of a RETRY packet: an empty payload, sealed with the server's initial key. Header and cookie are the associated
/// data.
[[nodiscard]] Tag retry_tag(Provider& provider, ConnectionId original_destination,
                            std::span<const std::byte> header_and_token);
/// `packet`: the whole RETRY datagram; its last kTagBytes are the tag.
[[nodiscard]] bool check_retry_tag(Provider& provider, ConnectionId original_destination,
                                   std::span<const std::byte> packet);

// Packet protection of an established connection: the keys of both directions through all generations.

/// TLS exporter label of the secret from which SessionKeys derives its keys.
inline constexpr const char* kPacketKeysLabel = "EXPORTER-udtx-2 packet keys";

/// The usage limits of an AEAD key (RFC 9001, section 6.6 and appendix B).
struct KeyLimits {
    std::uint64_t sealed_per_key = 0;  ///< packets sealed with one key
    std::uint64_t forged = 0;          ///< packets of one connection that failed to authenticate, over all keys
};
[[nodiscard]] KeyLimits limits_for(Cipher cipher) noexcept;

/// One bit in the short header distinguishes two key generations (RFC 9001, section 6).
///
/// Order of calls: seal() and open() at any time. Report acknowledgements to on_acked(), so that can_update() knows
/// when the peer holds the current keys. To rekey: if (keys.sealed_in_phase() >= limit && keys.can_update())
/// keys.initiate_update(). Close the connection on seal_limit_reached() or forgery_limit_reached(). Call
/// drop_previous() about three probe time-outs after key_updates() grew.
class SessionKeys {
  public:
    /// `exported`: the secret from the TLS exporter, the same on both ends.
    SessionKeys(Provider& provider, Cipher cipher, Role role, const Secret& exported, std::size_t packet_threads = 0);
    SessionKeys(Provider& provider, Cipher cipher, Role role, const Secret& exported, KeyLimits limits,
                std::size_t packet_threads = 0);
    ~SessionKeys();
    SessionKeys(const SessionKeys&) = delete;
    SessionKeys& operator=(const SessionKeys&) = delete;

    /// The key phase bit for the header of the next packet to seal. initiate_update() and open() may change it.
    [[nodiscard]] bool key_phase() const noexcept { return (send_generation_ & 1U) != 0; }

    /// Seals packet[header_bytes, size - kTagBytes) in place. Use each number only once on a path.
    void seal(PathId path, PacketNumber number, std::span<std::byte> packet, std::size_t header_bytes);

    /// The bookkeeping of seal() for a packet that the caller seals with send_key(). Take that key before any other
    /// call.
    void note_sealed(PathId path, PacketNumber number);
    [[nodiscard]] const PacketKeyPtr& send_key() const noexcept { return send_; }

    /// Opens in place. `phase`: the packet's key phase bit. If a packet of the next generation authenticates, that
    /// generation becomes the current one, and our sending keys follow. False: the packet is forged, corrupted, or of a
    /// generation whose keys were dropped.
    [[nodiscard]] bool open(PathId path, PacketNumber number, bool phase, std::span<std::byte> packet,
                            std::size_t header_bytes);

    /// For opening on another thread: the key of this phase, or null if it is not the current phase. Report the result
    /// to note_opened().
    [[nodiscard]] PacketKeyPtr receive_key(bool phase) const;
    void note_opened(const PacketKey& with, PathId path, PacketNumber number, bool authentic);

    /// The peer acknowledged this number, which we sent (the largest of an ACK is enough).
    void on_acked(PathId path, PacketNumber number) noexcept;
    /// True if an update may start: the peer has proved that it holds the current keys (RFC 9001, section 6.1).
    [[nodiscard]] bool can_update() const noexcept;
    /// Switches to new sending keys. The receiving keys follow with the peer's first packet. Call it only if
    /// can_update().
    void initiate_update();
    /// Drops the previous receiving keys, which were kept for reordered packets.
    void drop_previous() noexcept;

    [[nodiscard]] std::uint64_t sealed_in_phase() const noexcept { return sealed_; }
    [[nodiscard]] std::uint64_t failed_opens() const noexcept { return failed_opens_; }
    [[nodiscard]] bool seal_limit_reached() const noexcept { return sealed_ >= limits_.sealed_per_key; }
    [[nodiscard]] bool forgery_limit_reached() const noexcept { return failed_opens_ > limits_.forged; }
    /// Number of completed changes of the receiving keys.
    [[nodiscard]] std::uint64_t key_updates() const noexcept { return receive_generation_; }
    [[nodiscard]] Cipher cipher() const noexcept { return cipher_; }

  private:
    /// The first packet number on a path in a generation.
    struct First {
        PathId path;
        PacketNumber number = 0;
    };
    using Firsts = std::vector<First>;  // one entry for each path in use

    [[nodiscard]] static std::optional<PacketNumber> first_on(const Firsts& firsts, PathId path) noexcept;
    /// Numbers grow, so there is usually nothing to change.
    static void lower_first(Firsts& firsts, PathId path, PacketNumber number) {
        const bool known = !firsts.empty() && firsts.front().path == path && firsts.front().number <= number;
        if (!known) lower_any(firsts, path, number);
    }
    static void lower_any(Firsts& firsts, PathId path, PacketNumber number);
    [[nodiscard]] PacketKeyPtr make_key(const Secret& secret);
    [[nodiscard]] PacketKeyPtr next_key(Secret& secret);
    [[nodiscard]] static bool open_with(const PacketKey& key, PathId path, PacketNumber number,
                                        std::span<std::byte> packet, std::size_t header_bytes);
    [[nodiscard]] bool open_other_phase(PathId path, PacketNumber number, std::span<std::byte> packet,
                                        std::size_t header_bytes);
    [[nodiscard]] bool peer_may_update() const noexcept;
    void rotate_receive();
    void rotate_send();

    Provider& provider_;
    Cipher cipher_;
    KeyLimits limits_;
    std::size_t packet_threads_;

    Secret send_secret_{};     // the traffic secret of next_send_
    Secret receive_secret_{};  // the traffic secret of next_receive_
    PacketKeyPtr send_;
    PacketKeyPtr next_send_;
    PacketKeyPtr receive_;
    // Derived in advance, so that the first packet of a new phase takes no longer to open than others.
    PacketKeyPtr next_receive_;
    PacketKeyPtr previous_receive_;

    std::uint64_t send_generation_ = 0;  // at most one ahead of receive_generation_
    std::uint64_t receive_generation_ = 0;
    std::uint64_t sealed_ = 0;
    std::uint64_t failed_opens_ = 0;
    bool acked_in_phase_ = false;
    Firsts sent_firsts_;      // the first numbers of the sending generation
    Firsts received_firsts_;  // the first numbers of the receiving generation
    std::vector<std::byte> scratch_;
};

// The packet numbers received on one path. Each is accepted once; numbers older than the window are rejected.

/// A bitmap of the newest numbers. It covers at least `packets` - 64 of them. Its memory grows with the numbers seen,
/// up to packets / 8 bytes.
class ReplayWindow {
  public:
    /// More than the packets in flight at 10 Gbit/s over 200 ms (178k packets of 1,400 bytes).
    static constexpr std::uint64_t kDefaultPackets = 1ULL << 18U;

    /// `packets`: a power of two, at least 128.
    explicit ReplayWindow(std::uint64_t packets = kDefaultPackets);

    /// True if the number is neither seen nor too old. Call it before opening; call mark() only after the packet
    /// authenticated.
    [[nodiscard]] bool check(PacketNumber number) const noexcept;
    void mark(PacketNumber number);

    [[nodiscard]] std::size_t memory_bytes() const noexcept { return words_.size() * sizeof(std::uint64_t); }

  private:
    [[nodiscard]] std::size_t slot(std::uint64_t word) const noexcept {
        return static_cast<std::size_t>(word & (words_.size() - 1));
    }
    void advance_to(std::uint64_t word);

    std::uint64_t max_words_;
    std::uint64_t top_word_ = 0;        // number / 64 of the newest number marked
    std::vector<std::uint64_t> words_;  // word w is at slot w mod size; the size is a power of two
};

}  // namespace udtx::crypto
