#include "udtx/diagnosis.hpp"

#include "io/socket_setup.hpp"
#include "openssl/cipher_speed.hpp"
#include "openssl/provider.hpp"
#include "udtx/monotonic_clock.hpp"
#ifdef __linux__
#include <netinet/in.h>

#include "io/udp_offload.hpp"
#endif

namespace udtx {

CipherSpeeds measure_ciphers(Duration duration) {
    openssl::OpensslProvider provider;
    const auto speed = openssl::measure_cipher_speed(provider, monotonic_now, duration);
    return {Rate::bytes_per_second(speed.aes_gcm), Rate::bytes_per_second(speed.chacha20),
            openssl::has_aes_instructions()};
}

Result<UdpSupport> examine_udp() {
    Address loopback;
    loopback.family = Address::Family::v4;
    loopback.ip[0] = 127;
    loopback.ip[3] = 1;
    const auto socket = io::make_bound_socket(loopback, {});
    if (!socket) return socket.error();
    UdpSupport support{socket->buffers.receive, socket->buffers.send, socket->buffers.commands()};
#ifdef __linux__
    const auto takes = [&](int option, int value) {
        return io::set_option(socket->fd.get(), IPPROTO_UDP, option, value);
    };
    support.segmentation_offload = takes(UDP_SEGMENT, 1400);
    support.receive_offload = takes(UDP_GRO, 1);
#endif
    return support;
}

}  // namespace udtx
