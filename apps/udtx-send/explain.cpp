#include "udtx-send/explain.hpp"

#include "common/units.hpp"

namespace udtx::apps {

std::string explain(const Error& error, const DialContext& context) {
    const std::string where = authority(context.url) + "/udp";
    const std::string port = std::to_string(context.url.port);
    if (error.code == ErrorCode::authentication) {
        return "authentication with " + where + " failed: " + error.message +
               (context.identity ? "; check --pin here and --authorized-keys there"
                                 : "; both ends need the same --psk-file");
    }
    if (context.connected) return error.message;
    switch (error.code) {
        case ErrorCode::network:
            return "nothing answers on " + where + ": start udtx-recv there, or check host and port";
        case ErrorCode::udp_blocked:
            return "nothing came back from " + where + " within " + format_elapsed(context.patience) +
                   ": UDP is blocked on the way or the host is down; open UDP port " + port +
                   " in its firewall, and check host and port";
        case ErrorCode::timeout:
            return "the handshake with " + where + " did not finish within " + format_elapsed(context.patience) +
                   ": the path loses most packets, or something else answers on that port";
        default:
            return error.message;
    }
}

}  // namespace udtx::apps
