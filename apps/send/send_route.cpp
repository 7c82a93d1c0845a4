#include "send/send_route.hpp"

#include <string>
#include <utility>

#include "dial/dial_url.hpp"
#include "dial/reconnect.hpp"

namespace udtx::apps {
namespace {

Result<SendRoute> route_by_url(const SendCommand& command) {
    auto credentials = dialling_credentials(command.common, command.pin);
    if (!credentials) return credentials.error();
    auto addresses = addresses_of(command.url, command.common.addresses);
    if (!addresses) return addresses.error();
    return SendRoute{std::move(*credentials), std::move(*addresses)};
}

}  // namespace

Result<SendRoute> find_route(const SendRun& run, BootstrapFields request) {
    const SendCommand& command = run.command;
    if (!command.remote) return route_by_url(command);
    RemoteStart start{"udtx-recv", *command.remote, command.ssh, command.common.addresses, std::move(request)};
    for (std::string& argument : command.common.for_other_side()) start.request.add("argument", std::move(argument));
    auto remote = RemoteEnd::start(std::move(start), run.log, run.terminal, run.signals);
    if (!remote) return remote.error();
    if (const std::string advice = (*remote)->reply().get("advice"); !advice.empty()) {
        run.log.detail(command.remote->host + ": " + advice);
    }
    return SendRoute{(*remote)->credentials(), (*remote)->addresses(), std::move(*remote)};
}

DialContext context_of(const SendCommand& command, const SendRoute& route, bool connected) {
    TransportConfig config = command.transport();
    dial_within(config, route.left);
    if (route.remote) {
        DialContext context = context_over_ssh(*route.remote, command.remote->host, connected, config);
        context.known = route.known;
        return context;
    }
    DialContext context;
    context.url = command.url;
    context.targets = command.paths.targets(command.url);
    context.connected = connected;
    context.identity = !command.pin.empty();
    context.patience = config.handshake_timeout;
    return context;
}

}  // namespace udtx::apps
