#include "common/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "common/descriptors.hpp"

namespace udtx::apps {
namespace {

/// The current size of the window; zeros if unknown.
winsize window_of(int fd) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0) size = {};
    return size;
}

}  // namespace

Terminal::Terminal(int fd) : fd_(fd), tty_(isatty(fd) == 1) {}

Terminal::~Terminal() { clear_status(); }

std::size_t Terminal::columns() const {
    const auto columns = window_of(fd_).ws_col;
    return columns > 0 ? columns : 80;
}

std::size_t Terminal::rows() const {
    const auto rows = window_of(fd_).ws_row;
    return rows > 0 ? rows : 24;
}

void Terminal::line(std::string_view text) {
    const std::lock_guard lock(mutex_);
    std::string out = erase_status();
    out += text;
    out += '\n';
    write(out);
}

void Terminal::status(std::string_view text) {
    const std::lock_guard lock(mutex_);
    write(erase_status() + std::string(text));
    status_lines_ = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void Terminal::clear_status() {
    const std::lock_guard lock(mutex_);
    write(erase_status());
}

/// The cursor is in the last line of the status. The escapes move it to the first line and clear everything from there.
std::string Terminal::erase_status() {
    if (status_lines_ == 0) return {};
    std::string out = "\r";
    for (; status_lines_ > 1; --status_lines_) out += "\x1b[A";
    status_lines_ = 0;
    return out + "\x1b[J";
}

void Terminal::write(std::string_view bytes) const {
    // A transfer continues without standard error, so failures are ignored.
    static_cast<void>(write_all(fd_, bytes));
}

}  // namespace udtx::apps
