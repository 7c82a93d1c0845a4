#include "io/path_log.hpp"

#include <variant>

#include "udtx/address.hpp"

namespace udtx::io {
namespace {

std::string number_of(PathId path) { return "path " + std::to_string(path.value); }

}  // namespace

void log_paths(const LogSink& log, const std::string& whose, bool several, const proto::Event& event) {
    if (!log) return;
    if (const auto* path = std::get_if<proto::event::PathChanged>(&event)) {
        const std::string name =
            whose + number_of(path->id) + " from " + host_text(path->local) + " to " + to_string(path->remote);
        if (path->unreachable) {
            log(LogLevel::warning, name + ": nothing arrives; udtx tries it again from time to time");
        } else {
            log(LogLevel::detail, name + ": " + to_string(path->state));
        }
    }
    if (const auto* moved = std::get_if<proto::event::PeerMoved>(&event)) {
        log(LogLevel::detail, whose + (several ? number_of(moved->path) + ": " : std::string()) +
                                  "the peer's address changed from " + to_string(moved->from) + " to " +
                                  to_string(moved->to));
    }
}

}  // namespace udtx::io
