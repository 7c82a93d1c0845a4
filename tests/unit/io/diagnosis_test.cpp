#include "udtx/diagnosis.hpp"

#include "io/socket_setup.hpp"
#include "test/catch.hpp"

using namespace udtx;

TEST_CASE("a host tells how fast its ciphers are and what its sockets have") {
    const CipherSpeeds speeds = measure_ciphers(std::chrono::milliseconds(1));
    CHECK_FALSE(speeds.aes_256_gcm.is_zero());
    CHECK_FALSE(speeds.chacha20_poly1305.is_zero());
    const auto udp = examine_udp();
    REQUIRE(udp);
    CHECK(udp->receive_buffer > 0);
    CHECK(udp->send_buffer > 0);
    if (udp->buffer_commands.empty()) CHECK(udp->receive_buffer >= io::SocketOptions{}.buffer_bytes);
}

#ifdef __linux__
TEST_CASE("only the buffer that is too small has a command, and the advice ends with it") {
    constexpr std::size_t kWanted = 16U << 20U;
    constexpr std::size_t kSmall = 208U << 10U;
    CHECK(io::SocketBuffers{kWanted, kWanted, kWanted}.advice().empty());
    const std::string for_receiving = "sysctl -w net.core.rmem_max=16777216";
    const std::string for_sending = "sysctl -w net.core.wmem_max=16777216";
    CHECK(io::SocketBuffers{kWanted, kSmall, kWanted}.commands() == for_receiving);
    CHECK(io::SocketBuffers{kWanted, kWanted, kSmall}.commands() == for_sending);
    const io::SocketBuffers both{kWanted, kSmall, kSmall};
    CHECK(both.commands() == for_receiving + " && " + for_sending);
    CHECK(both.advice() ==
          "the system caps UDP buffers (receive 208 KiB, send 208 KiB); fast paths may lose packets; fix with: " +
              both.commands());
    // A send buffer of two MiB is large enough.
    CHECK(io::SocketBuffers{kWanted, kWanted, 2U << 20U}.commands().empty());
}
#endif
