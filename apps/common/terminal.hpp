// Standard error as the tools use it: whole lines, and at most one status line below them that is redrawn in place.
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
    void line(std::string_view text);
    /// Replaces the status line. Only for a terminal.
    void status(std::string_view text);
    void clear_status();

  private:
    void write(std::string_view bytes) const;

    int fd_;
    bool tty_;
    std::mutex mutex_;
    bool status_shown_ = false;
};

}  // namespace udtx::apps
