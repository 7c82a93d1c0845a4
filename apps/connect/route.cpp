#include "connect/route.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/units.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {
namespace {

/// The own key and the keys of --pin.
Result<Credentials> credentials_of(const TransferCommand& command) {
    auto credentials = load_credentials(command.common);
    if (!credentials || command.pin.empty()) return credentials;
    const auto key = PublicKey::parse(command.pin);
    const auto trusted = key ? credentials->trust(*key) : credentials->trust_file(command.pin);
    if (trusted) return credentials;
    Error error = key_error(trusted.error(), "--pin");
    error.message += "; --pin takes the server's public key (\"udtx-ed25519 BASE64\") or a file of such lines";
    return error;
}

/// The caller tries them in this order.
Result<std::vector<Address>> addresses_of(const Url& url, AddressChoice choice) {
    auto addresses = resolve(url.host, url.port, choice);
    if (addresses || choice == AddressChoice::any) return addresses;
    const std::string hint = choice == AddressChoice::v4_only ? " (with -4, as IPv4)" : " (with -6, as IPv6)";
    return Error{addresses.error().code, addresses.error().message + hint};
}

/// The time for a handshake over the route. A reconnect is limited to the remaining patience.
Duration handshake_time(const TransportConfig& config, const Route& route) {
    constexpr Duration kLeast = std::chrono::milliseconds(1);
    return route.left ? std::min(config.handshake_timeout, std::max(*route.left, kLeast)) : config.handshake_timeout;
}

/// Over ssh the remote process runs and listens, so the fault is on the path.
std::string explain_over_ssh(const Error& error, const std::string& host, const Route& route,
                             const std::string& patience) {
    const std::string port = "UDP port " + std::to_string(route.remote->port());
    const std::string where = to_string(route.addresses.front()) + "/udp";
    const std::string silence = "nothing came back from " + where + " within " + patience;
    if (route.known) return error.code == ErrorCode::udp_blocked ? silence : error.message;
    switch (error.code) {
        case ErrorCode::network:
            return "ssh reaches " + host + ", but " + where + " is refused on the path: open inbound " + port +
                   " in its firewall, or name an open one with -O PORT or -O PORT-PORT";
        case ErrorCode::udp_blocked:
            if (route.remote->heard()) {
                return "UDP from " + host + " to here is blocked: datagrams reach its " + port + ", and " + silence +
                       "; let answers out through the firewall there and in through the one here";
            }
            return "UDP from here to " + host + " is blocked: ssh gets there, and " + silence + "; open inbound " +
                   port + " in its firewall, or name an open one with -O PORT or -O PORT-PORT";
        case ErrorCode::timeout:
            return "the handshake with " + where + " did not finish within " + patience +
                   ": the path loses most packets";
        default:
            return error.message;
    }
}

/// Both ends have reached the relay.
std::string explain_met(const Error& error, const std::string& patience, bool relay_gone) {
    if (error.code != ErrorCode::network && error.code != ErrorCode::udp_blocked && error.code != ErrorCode::timeout) {
        return error.message;
    }
    if (relay_gone) {
        return "the relay has ended its connection (it stopped, or its --relay-time is over), and no datagrams pass "
               "between the two NATs: start both ends again";
    }
    return "the other end was met, but nothing came back from it within " + patience +
           ", neither directly nor through the relay: is it still running?";
}

/// Prints the code, and waits for the end that uses it.
Result<Route> meet(const TransferCommand& command, const Run& run) {
    const auto relay = resolve(command.rendezvous.relay.host, command.rendezvous.relay.port, command.common.addresses);
    if (!relay) return relay.error();
    const auto tell = [&](const Code& code) {
        // Also with --quiet, because nobody could join without it.
        run.terminal.line("udtx-send: on the other machine run: udtx-recv --rendezvous " +
                          authority(command.rendezvous.relay) + " --code " + to_text(code));
    };
    const auto wrong = [&](std::size_t left) {
        run.log.warn("somebody tried a wrong code; " + counted(left, "more attempt") + " and the code is useless");
    };
    auto met = MetEnd::await(*relay, tell, wrong, run.signals.descriptor());
    if (!met) return met.error();
    if (const auto started = (*met)->start(); !started) return started.error();
    run.log.detail("the other end has come");
    return route_over(std::move(*met));
}

}  // namespace

Route route_over(std::shared_ptr<MetEnd> met) {
    Route route{.credentials = Credentials::from_psk(met->key().bytes()), .addresses = met->addresses()};
    route.met = std::move(met);
    return route;
}

std::shared_ptr<Channel> channel_of(const Route& route) {
    if (route.met) return route.met->channel();
    return route.remote ? route.remote->channel() : nullptr;
}

Result<Route> find_route(const TransferCommand& command, const Run& run, const std::string& program,
                         BootstrapFields request, bool may_ask) {
    if (command.by_code) return meet(command, run);
    if (!command.remote) {
        auto credentials = credentials_of(command);
        if (!credentials) return credentials.error();
        auto addresses = addresses_of(command.url, command.common.addresses);
        if (!addresses) return addresses.error();
        return Route{.credentials = std::move(*credentials), .addresses = std::move(*addresses)};
    }
    if (command.carriers.only != CarrierFlags::Only::udp) request.add("channel", "1");
    const auto linger = std::chrono::ceil<std::chrono::seconds>(command.ssh.linger);
    if (linger.count() > 0) request.add("linger", std::to_string(linger.count()));
    auto remote = RemoteEnd::start({.program = program,
                                    .target = *command.remote,
                                    .options = command.ssh,
                                    .addresses = command.common.addresses,
                                    .request = std::move(request),
                                    .may_ask = may_ask},
                                   run.log, run.terminal, run.signals);
    if (!remote) return remote.error();
    const std::string advice = (*remote)->reply().get("advice");
    if (!advice.empty()) run.log.detail(command.remote->host + ": " + advice);
    return Route{
        .credentials = (*remote)->credentials(), .addresses = (*remote)->addresses(), .remote = std::move(*remote)};
}

Result<transfer::PeerOptions> connection_over(const TransferCommand& command, const Route& route,
                                              TransportConfig config) {
    config.handshake_timeout = handshake_time(config, route);
    transfer::PeerOptions options{.connection = command.common.connection(std::move(config)),
                                  .choice = command.common.addresses,
                                  .addresses = route.addresses};
    if (route.remote && command.paths.requests.empty()) {
        const auto& own = route.remote->own_addresses();
        options.addresses.insert(options.addresses.end(), own.begin(), own.end());
    }
    options.carriers = command.carriers.allowed(!route.remote && !route.met);
    options.carriers.channel = (route.remote || route.met) && command.carriers.only != CarrierFlags::Only::udp;
    if (route.met) {
        options.socket = route.met->socket();
        // Only the relay leads there, and the connection waits for its stream.
        if (route.addresses.empty()) {
            options.addresses = {route.met->relay()};
            options.carriers.udp = false;
        }
    }
    if (const auto applied = command.paths.apply(options, route.left.has_value()); !applied) return applied.error();
    return options;
}

std::string explain(const Error& error, const TransferCommand& command, const Route& route, bool connected) {
    const std::string where = route.met      ? "the other end"
                              : route.remote ? to_string(route.addresses.front()) + "/udp"
                                             : command.paths.targets(command.url);
    const std::string patience = format_elapsed(handshake_time(command.common.transport(), route));
    if (error.code == ErrorCode::authentication) {
        const bool pinned = !route.remote && !command.pin.empty();
        return "authentication with " + command.peer() + " failed: " + error.message +
               (pinned ? "; check --pin here and --authorized-keys there" : "; both ends need the same --psk-file");
    }
    if (connected) return error.message;
    if (route.met) return explain_met(error, patience, route.met->over());
    if (route.remote) return explain_over_ssh(error, command.remote->host, route, patience);
    if (command.carriers.only == CarrierFlags::Only::tcp) {
        if (error.code != ErrorCode::udp_blocked) return error.message;
        return "nothing came back from " + authority(command.url) + "/tcp within " + patience +
               ": TCP is blocked on the path or the host is down; open TCP port " + std::to_string(command.url.port) +
               " in its firewall, or name a proxy with --proxy";
    }
    switch (error.code) {
        case ErrorCode::network:
            return "nothing answers on " + where + ": start udtx-recv there, or check host and port";
        case ErrorCode::udp_blocked:
            return "nothing came back from " + where + " within " + patience +
                   ": UDP is blocked on the path or the host is down; open UDP port " +
                   std::to_string(command.url.port) + " in its firewall, and check host and port";
        case ErrorCode::timeout:
            return "the handshake with " + where + " did not finish within " + patience +
                   ": the path loses most packets, or another program answers on that port";
        default:
            return error.message;
    }
}

/// For a transfer that did not go over UDP all the time.
std::string how_to_use_udp(const TransferCommand& command, const Route& route) {
    if (route.met) {
        return "no datagrams passed between the two NATs all the time: an open UDP port at one end makes this faster "
               "(udtx-recv --listen)";
    }
    const std::uint16_t port = route.remote ? route.remote->port() : command.url.port;
    if (route.remote && route.remote->proxied()) {
        return "UDP did not pass all the time, because ssh reaches " + command.remote->host +
               " through another host: a direct route to its UDP port " + std::to_string(port) +
               " makes this faster (-O names the port)";
    }
    return "UDP did not pass all the time: let UDP port " + std::to_string(port) + " of " +
           (route.remote ? command.remote->host : command.url.host) + (route.remote ? " (-O names it)" : "") +
           " through the firewalls of both ends to make this faster";
}

}  // namespace udtx::apps
