// What is written to a terminal, read from the other side of a pseudo-terminal.
#include "common/log.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "test/catch.hpp"
#include "udtx/descriptor.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

struct Pty {
    Pty() : master(::posix_openpt(O_RDWR | O_NOCTTY)) {
        REQUIRE(master);
        REQUIRE(::grantpt(master.get()) == 0);
        REQUIRE(::unlockpt(master.get()) == 0);
        slave = UniqueFd(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY));
        REQUIRE(slave);
    }
    /// All output since the last call.
    std::string read() {
        std::array<char, 4096> buffer{};
        const ssize_t got = ::read(master.get(), buffer.data(), buffer.size());
        return {buffer.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
    }
    UniqueFd master;
    UniqueFd slave;
};

}  // namespace

TEST_CASE("a status of several lines is taken back as a whole before anything else is said") {
    Pty pty;
    Terminal terminal(pty.slave.get());
    REQUIRE(terminal.is_tty());
    terminal.status("one\ntwo\nthree");
    CHECK(pty.read() == "one\r\ntwo\r\nthree");
    terminal.status("four");
    CHECK(pty.read() == "\r\x1b[A\x1b[A\x1b[Jfour");
    terminal.line("a message");
    CHECK(pty.read() == "\r\x1b[Ja message\r\n");
    terminal.line("another");
    CHECK(pty.read() == "another\r\n");
}

TEST_CASE("the size of the window is asked for each time") {
    Pty pty;
    const Terminal terminal(pty.slave.get());
    winsize size{};
    CHECK(terminal.columns() == 80);
    CHECK(terminal.rows() == 24);
    size.ws_col = 132;
    size.ws_row = 5;
    REQUIRE(::ioctl(pty.master.get(), TIOCSWINSZ, &size) == 0);
    CHECK(terminal.columns() == 132);
    CHECK(terminal.rows() == 5);
}
