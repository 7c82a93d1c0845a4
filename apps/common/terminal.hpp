// Standard error of the tools: whole lines, and below them a status of one or more lines, redrawn in place.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace udtx::apps {

/// Thread-safe. Text is printed as given, so callers must escape text from outside the program.
class Terminal {
  public:
    explicit Terminal(int fd);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    [[nodiscard]] bool is_tty() const noexcept { return tty_; }
    [[nodiscard]] std::size_t columns() const;  ///< current width of the window; 80 if unknown
    [[nodiscard]] std::size_t rows() const;     ///< current height of the window; 24 if unknown
    void line(std::string_view text);
    /// Replaces the status. Lines are separated by '\n', with none after the last. Each line must fit the terminal's
    /// columns(), and their number its rows(). Call it only if is_tty().
    void status(std::string_view text);
    void clear_status();

  private:
    void write(std::string_view bytes) const;
    [[nodiscard]] std::string erase_status();

    int fd_;
    bool tty_;
    std::mutex mutex_;
    std::size_t status_lines_ = 0;  // 0: no status is shown
};

}  // namespace udtx::apps
