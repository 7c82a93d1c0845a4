#include "dial/explain.hpp"

#include <utility>

#include "common/units.hpp"
#include "observe/progress.hpp"

namespace udtx::apps {

Result<Credentials> dialling_credentials(const CommonOptions& options, const std::string& pin) {
    auto credentials = load_credentials(options);
    if (!credentials || pin.empty()) return credentials;
    const auto key = PublicKey::parse(pin);
    const auto trusted = key ? credentials->trust(*key) : credentials->trust_file(pin);
    if (trusted) return credentials;
    Error error = key_error(trusted.error(), "--pin");
    error.message += "; --pin takes the server's public key (\"udtx-ed25519 BASE64\") or a file of such lines";
    return error;
}

Result<std::vector<Address>> addresses_of(const Url& url, AddressChoice choice) {
    auto addresses = resolve(url.host, url.port, choice);
    if (addresses) return addresses;
    const bool v4 = choice == AddressChoice::v4_only;
    const bool any = choice == AddressChoice::any;
    const std::string hint = any ? "" : v4 ? " (with -4, as IPv4)" : " (with -6, as IPv6)";
    return Error{addresses.error().code, addresses.error().message + hint};
}

namespace {

/// Over ssh the remote process runs and listens, so the fault is on the path.
std::string explain_over_ssh(const Error& error, const DialContext& context, const std::string& where) {
    const std::string& host = context.ssh_host;
    const std::string port = "UDP port " + std::to_string(context.url.port);
    const std::string silence = "nothing came back from " + where + " within " + format_elapsed(context.patience);
    if (context.known) return error.code == ErrorCode::udp_blocked ? silence : error.message;
    switch (error.code) {
        case ErrorCode::network:
            return "ssh reaches " + host + ", but " + where + " is refused on the path: open inbound " + port +
                   " in its firewall, or name an open one with -O PORT or -O PORT-PORT";
        case ErrorCode::udp_blocked:
            if (context.heard) {
                return "UDP from " + host + " to here is blocked: datagrams reach its " + port + ", and " + silence +
                       "; let answers out through the firewall there and in through the one here";
            }
            return "UDP from here to " + host + " is blocked: ssh gets there, and " + silence + "; open inbound " +
                   port + " in its firewall, or name an open one with -O PORT or -O PORT-PORT";
        case ErrorCode::timeout:
            return "the handshake with " + where + " did not finish within " + format_elapsed(context.patience) +
                   ": the path loses most packets";
        default:
            return error.message;
    }
}

}  // namespace

DialContext context_over_ssh(RemoteEnd& remote, const std::string& host, bool connected,
                             const TransportConfig& config) {
    DialContext context;
    context.connected = connected;
    context.patience = config.handshake_timeout;
    context.ssh_host = host;
    context.heard = remote.heard();
    context.url.host = host_text(remote.addresses().front());
    context.url.port = remote.port();
    return context;
}

std::string explain(const Error& error, const DialContext& context) {
    const std::string where = context.targets.empty() ? authority(context.url) + "/udp" : context.targets;
    const std::string port = std::to_string(context.url.port);
    if (error.code == ErrorCode::authentication) {
        return "authentication with " + where + " failed: " + error.message +
               (context.identity ? "; check --pin here and --authorized-keys there"
                                 : "; both ends need the same --psk-file");
    }
    if (context.connected) return error.message;
    if (!context.ssh_host.empty()) return explain_over_ssh(error, context, where);
    switch (error.code) {
        case ErrorCode::network:
            return "nothing answers on " + where + ": start udtx-recv there, or check host and port";
        case ErrorCode::udp_blocked:
            return "nothing came back from " + where + " within " + format_elapsed(context.patience) +
                   ": UDP is blocked on the path or the host is down; open UDP port " + port +
                   " in its firewall, and check host and port";
        case ErrorCode::timeout:
            return "the handshake with " + where + " did not finish within " + format_elapsed(context.patience) +
                   ": the path loses most packets, or another program answers on that port";
        default:
            return error.message;
    }
}

}  // namespace udtx::apps
