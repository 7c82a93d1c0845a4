#include "common/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include "common/descriptors.hpp"

namespace udtx::apps {
namespace {
constexpr std::string_view kEraseLine = "\r\x1b[K";
}

Terminal::Terminal(int fd) : fd_(fd), tty_(isatty(fd) == 1) {}

Terminal::~Terminal() { clear_status(); }

std::size_t Terminal::columns() const {
    winsize size{};
    if (ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

void Terminal::line(std::string_view text) {
    const std::lock_guard lock(mutex_);
    std::string out;
    if (status_shown_) out += kEraseLine;
    status_shown_ = false;
    out += text;
    out += '\n';
    write(out);
}

void Terminal::status(std::string_view text) {
    const std::lock_guard lock(mutex_);
    write(std::string(kEraseLine) + std::string(text));
    status_shown_ = true;
}

void Terminal::clear_status() {
    const std::lock_guard lock(mutex_);
    if (status_shown_) write(kEraseLine);
    status_shown_ = false;
}

void Terminal::write(std::string_view bytes) const {
    // A standard error that is gone is no reason to end a transfer: failures are ignored.
    static_cast<void>(write_all(fd_, bytes));
}

}  // namespace udtx::apps
