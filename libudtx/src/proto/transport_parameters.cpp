#include "proto/transport_parameters.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/release.hpp"
#include "congestion/factory.hpp"
#include "crypto/packet_protection.hpp"
#include "multipath/schedulers.hpp"
#include "udtx/core/endpoint.hpp"
#include "wire/cursor.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

namespace {

using Field = std::uint64_t TransportParameters::*;

struct NumberedField {
    std::uint64_t id;
    Field field;
};
constexpr std::array<NumberedField, 11> kFields{{
    {1, &TransportParameters::idle_timeout_ms},
    {2, &TransportParameters::connection_window},
    {3, &TransportParameters::stream_window},
    {4, &TransportParameters::max_streams},
    {5, &TransportParameters::max_datagram},
    {6, &TransportParameters::aes_speed},
    {7, &TransportParameters::chacha_speed},
    {8, &TransportParameters::cipher},
    {9, &TransportParameters::receive_rate},
    {10, &TransportParameters::max_paths},
    {12, &TransportParameters::release},
}};
constexpr std::uint64_t kResetToken = 11;
constexpr std::uint64_t kVersionList = 13;
constexpr std::uint64_t kTcpPorts = 14;
constexpr std::size_t kMostItems = 16;  // of a list

/// A list of big-endian integers.
template <class T>
void write_list(wire::Writer& w, std::uint64_t id, const std::vector<T>& list) {
    if (list.empty()) return;
    const auto items = std::span(list).first(std::min(list.size(), kMostItems));
    w.varint(id);
    w.varint(sizeof(T) * items.size());
    for (const T item : items) w.big_endian(item, sizeof(T));
}

template <class T>
bool read_list(std::span<const std::byte> value, std::vector<T>& list) {
    if (value.empty() || value.size() % sizeof(T) != 0 || value.size() > sizeof(T) * kMostItems || !list.empty()) {
        return false;
    }
    for (std::size_t at = 0; at < value.size(); at += sizeof(T)) {
        list.push_back(static_cast<T>(wire::load_big_endian(value.data() + at, sizeof(T))));
    }
    return true;
}

std::uint64_t megabytes(double bytes_per_second) {
    return bytes_per_second <= 0 ? 0 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes_per_second / 1e6));
}

}  // namespace

TransportParameters TransportParameters::from(const TransportConfig& config, double aes_speed, double chacha_speed) {
    TransportParameters p;
    p.idle_timeout_ms = static_cast<std::uint64_t>(config.idle_timeout / std::chrono::milliseconds(1));
    p.connection_window = config.connection_window;
    p.stream_window = config.stream_window;
    p.max_streams = config.max_streams;
    p.max_datagram = config.max_datagram;
    if (!config.max_receive_rate.is_infinite()) {
        // 0 would mean any rate. Values above kMostRate do not fit the field.
        constexpr double kMostRate = 1e18;
        p.receive_rate = static_cast<std::uint64_t>(std::clamp(config.max_receive_rate.bps(), 1.0, kMostRate));
    }
    p.max_paths = config.max_paths;
    p.release = kRelease;
    p.versions.assign(wire::kVersions.begin(), wire::kVersions.end());
    p.aes_speed = megabytes(aes_speed);
    p.chacha_speed = megabytes(chacha_speed);
    return p;
}

std::vector<std::byte> encode(const TransportParameters& parameters) {
    std::vector<std::byte> out(kFields.size() * 18 + 2 + crypto::kResetTokenBytes + 2 * (2 + 4 * kMostItems) + 8);
    wire::Writer w(out);
    for (std::size_t i = 0; i < kFields.size(); ++i) {
        const std::uint64_t value = std::min(parameters.*kFields[i].field, wire::kVarintMax);
        w.varint(kFields[i].id);
        w.varint(wire::varint_bytes(value));
        w.varint(value);
    }
    if (parameters.reset_token) {
        w.varint(kResetToken);
        w.varint(parameters.reset_token->size());
        w.bytes(*parameters.reset_token);
    }
    write_list(w, kVersionList, parameters.versions);
    write_list(w, kTcpPorts, parameters.tcp_ports);
    if constexpr (kFuture) {
        w.varint(kFutureParameter);
        w.varint(3);
        w.zeros(3);
    }
    out.resize(w.size());
    return out;
}

Result<TransportParameters> decode_parameters(std::span<const std::byte> bytes) {
    const Error malformed{ErrorCode::malformed, "peer's transport parameters do not parse"};
    TransportParameters p;
    std::array<bool, kFields.size()> seen{};
    wire::Reader in(bytes);
    while (!in.empty()) {
        const auto id = in.varint();
        const auto length = in.varint();
        if (!id || !length || *length > in.remaining()) return malformed;
        const auto value = in.bytes(static_cast<std::size_t>(*length));
        if (!value) return malformed;
        if (*id == kResetToken) {
            if (value->size() != crypto::kResetTokenBytes || p.reset_token) return malformed;
            std::copy(value->begin(), value->end(), p.reset_token.emplace().begin());
            continue;
        }
        wire::Reader field(*value);
        if (*id == kVersionList || *id == kTcpPorts) {
            if (*id == kVersionList ? !read_list(*value, p.versions) : !read_list(*value, p.tcp_ports))
                return malformed;
            continue;
        }
        const auto number = field.varint();
        if (*id >= kMandatoryParameters) {
            return number ? needs_release("a transport parameter", *number) : malformed;
        }
        const auto known = std::ranges::find(kFields, *id, &NumberedField::id);
        if (known == kFields.end()) continue;
        const auto index = static_cast<std::size_t>(known - kFields.begin());
        if (!number || !field.empty() || seen[index]) return malformed;
        seen[index] = true;
        p.*known->field = *number;
    }
    if (p.max_datagram < wire::kMinInitialDatagram) {
        return Error{ErrorCode::protocol, "peer offers datagrams below 1200 bytes"};
    }
    return p;
}

std::optional<std::uint32_t> best_common_version(std::span<const std::uint32_t> theirs) {
    for (const std::uint32_t version : wire::kVersions) {
        if (std::ranges::find(theirs, version) != theirs.end()) return version;
    }
    return std::nullopt;
}

Result<crypto::Cipher> choose_cipher(const TransportParameters& a, const TransportParameters& b) {
    const std::uint64_t aes = std::min(a.aes_speed, b.aes_speed);
    const std::uint64_t chacha = std::min(a.chacha_speed, b.chacha_speed);
    if (aes == 0 && chacha == 0) return Error{ErrorCode::protocol, "no cipher in common with the peer"};
    return aes >= chacha ? crypto::Cipher::aes_256_gcm : crypto::Cipher::chacha20_poly1305;
}

namespace {
constexpr std::uint32_t kLargestDatagram = 65000;  // upper end of the size search, below the limit of an IP packet

Error invalid(std::string message) { return {ErrorCode::invalid_argument, "TransportConfig: " + std::move(message)}; }
}  // namespace

Result<void> check_cap(Rate rate, const std::string& name) {
    if (may_cap(rate)) return {};
    return Error{ErrorCode::invalid_argument, name + " must be above zero, or nothing could move"};
}

Result<void> check(const TransportConfig& config) {
    const auto controller = congestion::make_controller(config.congestion, config.congestion_factory, {}, {});
    if (!controller) return controller.error();
    const auto scheduler = multipath::make_scheduler(config.scheduler, config.scheduler_factory);
    if (!scheduler) return scheduler.error();
    if (config.max_paths == 0 || config.max_paths > kMaxPaths) {
        return invalid("max_paths must be from 1 to " + std::to_string(kMaxPaths));
    }
    if (auto good = check_cap(config.max_rate, "TransportConfig: max_rate"); !good) return good;
    if (auto good = check_cap(config.max_receive_rate, "TransportConfig: max_receive_rate"); !good) return good;
    if (config.min_rate.is_infinite()) return invalid("min_rate must be finite");
    if (config.min_rate > config.max_rate) return invalid("min_rate is above max_rate");
    if (config.policy == Policy::fixed && config.max_rate.is_infinite()) {
        return invalid("the policy 'fixed' needs max_rate");
    }
    if (config.idle_timeout <= Duration::zero()) return invalid("idle_timeout must be positive");
    if (config.handshake_timeout <= Duration::zero()) return invalid("handshake_timeout must be positive");
    if (config.keep_alive < Duration::zero()) return invalid("keep_alive must not be negative");
    if (config.min_datagram < wire::kMinInitialDatagram || config.min_datagram > config.max_datagram) {
        return invalid("min_datagram must be from 1200 to max_datagram");
    }
    if (config.max_datagram > kLargestDatagram) return invalid("max_datagram must be at most 65000");
    if (config.connection_window == 0 || config.stream_window == 0 || config.send_buffer == 0) {
        return invalid("connection_window, stream_window and send_buffer must be positive");
    }
    if (config.max_memory > kMaxWindowMemory) return invalid("max_memory must be at most 4 GiB");
    const std::uint64_t most = crypto::limits_for(crypto::Cipher::aes_256_gcm).sealed_per_key;
    if (config.rekey_after_packets == 0 || config.rekey_after_packets >= most) {
        return invalid("rekey_after_packets must be from 1 to " + std::to_string(most - 1));
    }
    return {};
}

}  // namespace udtx::proto
