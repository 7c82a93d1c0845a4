// Detects whether this is still the process that made an object. A fork copies keys and packet numbers but not the
// protocol thread. A child that used them would hang, or use a nonce twice.
#pragma once

#include <unistd.h>

#include "udtx/result.hpp"

namespace udtx::io {

class ForkGuard {
  public:
    [[nodiscard]] bool forked() const noexcept { return ::getpid() != owner_; }
    [[nodiscard]] static Error error() {
        return {ErrorCode::invalid_argument, "a fork cannot use the session of its parent process: connect again here"};
    }

  private:
    pid_t owner_ = ::getpid();
};

}  // namespace udtx::io
