#include "base/address.hpp"

#include <array>
#include <charconv>
#include <cstddef>

#include "udtx/address.hpp"

namespace udtx {

namespace {

void append_number(std::string& out, unsigned value, int base) {
    std::array<char, 12> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, base).ptr;
    out.append(text.data(), end);
}

void append_v4(std::string& out, const std::uint8_t* ip) {
    for (int i = 0; i < 4; ++i) {
        if (i > 0) out += '.';
        append_number(out, ip[i], 10);
    }
}

// RFC 5952: lower case, no leading zeros; "::" replaces the first longest run of two or more zero groups.
void append_v6(std::string& out, const std::array<std::uint8_t, 16>& ip) {
    std::array<unsigned, 8> group{};
    for (std::size_t i = 0; i < 8; ++i) group[i] = (static_cast<unsigned>(ip[2 * i]) << 8U) | ip[2 * i + 1];

    std::size_t run_at = 8;
    std::size_t run_length = 1;
    for (std::size_t i = 0; i < 8; ++i) {
        std::size_t n = 0;
        while (i + n < 8 && group[i + n] == 0) ++n;
        if (n > run_length) {
            run_at = i;
            run_length = n;
        }
    }
    for (std::size_t i = 0; i < 8; ++i) {
        if (i == run_at) {
            out += "::";
            i += run_length - 1;
            continue;
        }
        if (i > 0 && i != run_at + run_length) out += ':';
        append_number(out, group[i], 16);
    }
}

bool is_v4_mapped(const std::array<std::uint8_t, 16>& ip) {
    for (std::size_t i = 0; i < 10; ++i) {
        if (ip[i] != 0) return false;
    }
    return ip[10] == 0xff && ip[11] == 0xff;
}

bool has_no_ip(Carrier carrier) { return carrier == Carrier::ssh || carrier == Carrier::relay; }

}  // namespace

const char* carrier_name(Carrier carrier) noexcept {
    static constexpr std::array<const char*, 4> kNames{"udp", "tcp", "ssh", "relay"};
    return kNames.at(static_cast<std::size_t>(carrier));
}

std::string to_string(const Address& address) {
    if (has_no_ip(address.carrier)) return carrier_name(address.carrier);
    if (address.family == Address::Family::none) return "unknown";
    std::string out;
    if (address.family == Address::Family::v4) {
        append_v4(out, address.ip.data());
    } else {
        out += '[';
        if (is_v4_mapped(address.ip)) {
            out += "::ffff:";
            append_v4(out, address.ip.data() + 12);
        } else {
            append_v6(out, address.ip);
        }
        if (address.scope != 0) {
            out += '%';
            append_number(out, address.scope, 10);
        }
        out += ']';
    }
    out += ':';
    append_number(out, address.port, 10);
    return out;
}

std::string host_text(const Address& address) {
    if (has_no_ip(address.carrier)) return carrier_name(address.carrier);
    if (address.family == Address::Family::none) return "any address";
    const std::string text = to_string(address);
    return text.substr(0, text.rfind(':'));
}

std::string text_with_carrier(const Address& address) {
    if (has_no_ip(address.carrier)) return to_string(address);
    return to_string(address) + '/' + carrier_name(address.carrier);
}

}  // namespace udtx
