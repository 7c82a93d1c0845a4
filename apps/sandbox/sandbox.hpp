// What a receiver may do on this machine once it serves: write below the directories that it was given, and start
// nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

/// --sandbox: as far as the system can, or all of it or nothing, or none.
enum class SandboxMode { automatic, on, off };
/// "auto", "on" or "off"
[[nodiscard]] Result<SandboxMode> parse_sandbox_mode(std::string_view text);

/// Whatever is open already stays usable. The rest is read only.
struct SandboxPlaces {
    std::vector<std::string> trees;    ///< directories: everything below them, on other file systems as well
    std::vector<std::string> files;    ///< written at the end; made empty where they are missing
    std::vector<std::string> renames;  ///< directories: names come and go
    std::vector<std::string> links;    ///< directories: what is open gets a name
    std::vector<std::string> runtime;  ///< directories: sockets and files that are locked come and go
};

struct PlaceLeftOut {
    std::string path;
    std::string why;
};

struct Sandbox {
    std::string line;                      ///< what holds
    bool failed = false;                   ///< the system has one and did not give it
    std::vector<PlaceLeftOut> left_out{};  ///< places that cannot be written
    bool confined = false;                 ///< nothing is written elsewhere
    bool filtered = false;                 ///< calls are refused
};

/// Holds for this thread and for all that it starts from now on, to the end of the process. An error: `on`, and the
/// system cannot.
Result<Sandbox> enter_sandbox(SandboxMode mode, const SandboxPlaces& places);
/// When the sockets are open that other programs of this machine may call: no more of those, in no thread that was
/// started since. An error as above.
Result<void> seal_sandbox(SandboxMode mode, const Sandbox& sandbox);

}  // namespace udtx::apps
