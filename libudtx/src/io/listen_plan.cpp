#include "io/listen_plan.hpp"

#include <cerrno>
#include <utility>

namespace udtx::io {
namespace {

bool is_elsewhere(const Error& error) {
    return error.system_error == EADDRNOTAVAIL || error.system_error == EAFNOSUPPORT;
}

}  // namespace

Result<void> open_to_listen(Driver& driver, const std::string& listen, AddressChoice choice, UniqueFd socket) {
    if (socket) return driver.open(std::move(socket));
    const auto where = parse_host_port(listen);
    if (!where) return where.error();
    const auto addresses = resolve(where->host, where->port, choice);
    if (!addresses) return addresses.error();
    Result<void> failed;
    for (const Address& address : *addresses) {
        auto opened = driver.open(address);
        if (opened) return opened;
        if (failed || !is_elsewhere(opened.error())) failed = std::move(opened);
    }
    return failed;
}

}  // namespace udtx::io
