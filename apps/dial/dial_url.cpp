#include "dial/dial_url.hpp"

#include <utility>

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

}  // namespace udtx::apps
