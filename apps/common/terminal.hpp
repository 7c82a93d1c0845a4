// Standard error as the tools use it: whole lines, and below them the status, a line or a few, redrawn in place.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace udtx::apps {

/// Thread-safe. Text is printed as given: escape what came from elsewhere.
class Terminal {
  public:
    explicit Terminal(int fd);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    [[nodiscard]] bool is_tty() const noexcept { return tty_; }
    [[nodiscard]] std::size_t columns() const;  ///< of the window as it is now; 80 when unknown
    [[nodiscard]] std::size_t rows() const;     ///< the same, 24
    void line(std::string_view text);
    /// Replaces the status; lines end with '\n' but for the last one. None may be wider, and there may be no more of
    /// them, than the terminal shows. Only for a terminal.
    void status(std::string_view text);
    void clear_status();

  private:
    void write(std::string_view bytes) const;
    [[nodiscard]] std::string erase_status();

    int fd_;
    bool tty_;
    std::mutex mutex_;
    std::size_t status_lines_ = 0;  // 0: none is shown
};

}  // namespace udtx::apps
