#include "serve/access.hpp"

#include <unistd.h>

#include "control/transfer_card.hpp"

namespace udtx::apps {

Access::Access(const RecvCommand& command, const AuthorizedKeys& keys) : command_(command), keys_(keys) {
    for (const auto& [key, rights] : keys.all()) {
        if (rights.quota > 0) quotas_.emplace(&rights, transfer::Quota(rights.quota));
    }
}

const KeyRights* Access::rights_of(const transfer::Client& client) const {
    return client.key ? keys_.find(*client.key) : nullptr;
}

std::string Access::name_of(const transfer::Client& client) const {
    const KeyRights* rights = rights_of(client);
    if (rights == nullptr) return {};
    return " (" + (rights->name.empty() ? client.key->to_string() : rights->name) + ")";
}

std::string Access::place_of(const transfer::Client& client) const {
    if (command_.to_stdout) return {};
    const KeyRights* rights = rights_of(client);
    return seen_from_elsewhere(rights == nullptr ? command_.directory : directory_of(command_, *rights));
}

Rate Access::rate_of(const transfer::Client& client) const {
    const KeyRights* rights = rights_of(client);
    return rights == nullptr ? Rate::infinite() : rights->rate;
}

Result<transfer::LandingOptions> Access::push(const transfer::Client& client) const {
    const KeyRights* rights = rights_of(client);
    if (rights != nullptr && !rights->write) {
        return Error{ErrorCode::refused, "this key may not write here: it lacks the right 'write'"};
    }
    transfer::LandingOptions options;
    options.directory = command_.directory;
    if (rights != nullptr) {
        options.below = rights->directory;
        options.whose = client.identity;
    }
    const std::string place = rights == nullptr ? options.directory : directory_of(command_, *rights);
    if (const auto same = places_.check(place); !same) return same.error();
    if (command_.to_stdout) options.stream_fd = STDOUT_FILENO;
    options.resume = !command_.common.no_resume;
    options.receipt = receipt_;
    options.allow_erase = command_.allow_delete;
    options.allow_set_id = command_.allow_set_id;
    options.keep_base = true;
    options.min_free = command_.min_free;
    if (const auto quota = quotas_.find(rights); quota != quotas_.end()) options.quota = quota->second;
    options.overwrite = command_.overwrite;
    return options;
}

Result<transfer::OfferOptions> Access::pull(const transfer::Client& client) const {
    const KeyRights* rights = rights_of(client);
    if (rights != nullptr && !rights->read) {
        return Error{ErrorCode::refused, "this key may not read here: it lacks the right 'read'"};
    }
    if (rights == nullptr && !command_.allow_read) {
        return Error{ErrorCode::refused, "the server does not send files: start it with --allow-read"};
    }
    if (command_.to_stdout) return Error{ErrorCode::refused, "this receiver has no directory to fetch from"};
    return transfer::OfferOptions{command_.directory, rights == nullptr ? std::string() : rights->directory};
}

}  // namespace udtx::apps
