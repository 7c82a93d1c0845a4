// Limits what a serving receiver may do on this machine: write below the given directories, and start no programs.
#pragma once

#include <string>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

/// The modes of --sandbox. automatic: as much as the system can do; on: all of it or an error; off: none.
enum class SandboxMode { automatic, on, off };

/// Files that are already open stay usable. Everything else is read-only.
struct SandboxPlaces {
    std::vector<std::string> trees;    ///< directories: everything below them, including other file systems
    std::vector<std::string> files;    ///< files written at the end; created empty if missing
    std::vector<std::string> renames;  ///< directories in which names are created and removed
    std::vector<std::string> links;    ///< directories in which open files get names
    std::vector<std::string> runtime;  ///< directories in which sockets and locked files are created and removed
};

struct PlaceLeftOut {
    std::string path;
    std::string why;
};

struct Sandbox {
    std::string line;                      ///< describes the sandbox in force
    bool failed = false;                   ///< the system supports a sandbox, but it failed
    std::vector<PlaceLeftOut> left_out{};  ///< places that stay read-only
    bool confined = false;                 ///< the process writes only below its directories
    bool filtered = false;                 ///< system calls are filtered
};

/// Restricts this thread and all threads that it starts later, until the process ends. Returns an error if the mode is
/// `on` and the system cannot do it.
Result<Sandbox> enter_sandbox(SandboxMode mode, const SandboxPlaces& places);
/// Call it on the thread of enter_sandbox(), once all local sockets for other programs are open. From then on neither
/// this thread nor a thread that was started since enter_sandbox() can open more. Errors as for enter_sandbox().
Result<void> seal_sandbox(SandboxMode mode, const Sandbox& sandbox);

}  // namespace udtx::apps
