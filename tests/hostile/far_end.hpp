// The honest program at the other end of a byte stream, if the lying client starts it itself: what ssh would start
// there, or the receiver that takes the code of a relay.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "rendezvous/met_end.hpp"
#include "udtx/credentials.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::hostile {

/// True if $HOSTILE_CARRIER is `name`.
[[nodiscard]] bool over(std::string_view name);
/// The value of an environment variable, which must be there.
[[nodiscard]] std::string variable(const char* name);
/// True if each lying client has an honest program of its own, so that no other client can be served by the same one.
[[nodiscard]] inline bool has_far_end() { return over("ssh") || over("relay"); }

/// $HOSTILE_FAR_END is a command of sh, which has to exec the program.
struct FarEnd {
    pid_t pid = 0;
    UniqueFd stream{};  ///< over ssh: its standard input and output, after the bootstrap
};
/// A receiver that writes to the directory $HOSTILE_FAR_DIR, as ssh would start it. Its key has 32 bytes of 1.
[[nodiscard]] FarEnd start_over_ssh();

/// The session of this process at the relay at port $HOSTILE_RELAY. The command gets the code as $1.
struct Meeting {
    FarEnd far_end;
    std::unique_ptr<apps::MetEnd> end;
};
[[nodiscard]] Meeting& meeting();

/// The exit code of a far end: 128 and more after a signal, also if it does not end by itself within 20 s.
[[nodiscard]] int code_of(pid_t far_end);
/// True after a signal, or the report of a sanitizer. 130: the client gave up, which counts as an interruption.
[[nodiscard]] inline bool crashed(int code) { return code == 1 || (code >= 128 && code != 130); }
/// What the largest of the far ends took, after code_of().
[[nodiscard]] long peak_mebibytes();

/// What this process authenticates with. `file` has the key if there is no far end.
[[nodiscard]] Credentials own_credentials(const char* file);

}  // namespace udtx::hostile
