#include "serve/access.hpp"

#include <unistd.h>

#include <utility>

#include "control/transfer_card.hpp"

namespace udtx::apps {
namespace {

/// The key was removed after the handshake.
Error removed() { return {ErrorCode::authentication, "the server no longer accepts the key of this client"}; }

}  // namespace

Access::Access(const RecvCommand& command, const AuthorizedKeys& keys) : command_(command) { set_keys(keys); }

void Access::set_keys(const AuthorizedKeys& keys) {
    auto next = std::make_shared<Grants>();
    const std::lock_guard lock(mutex_);
    for (const auto& [key, rights] : keys.all()) {
        Grant grant{rights};
        const auto before = grants_ ? grants_->find(key) : Grants::const_iterator();
        const bool same = grants_ && before != grants_->end() && before->second.rights.quota == rights.quota &&
                          before->second.rights.directory == rights.directory;
        if (same) {
            grant.quota = before->second.quota;
        } else if (rights.quota > 0) {
            grant.quota.emplace(rights.quota);
        }
        next->emplace(key, std::move(grant));
    }
    grants_ = std::move(next);
}

std::shared_ptr<const Access::Grants> Access::grants() const {
    const std::lock_guard lock(mutex_);
    return grants_;
}

std::shared_ptr<const Access::Grant> Access::grant_of(const transfer::Client& client) const {
    if (!client.key) return nullptr;
    auto all = grants();
    const auto found = all->find(*client.key);
    if (found == all->end()) return nullptr;
    return {std::move(all), &found->second};
}

std::string Access::name_of(const transfer::Client& client) const {
    if (!client.key) return {};
    const auto grant = grant_of(client);
    return " (" + (!grant || grant->rights.name.empty() ? client.key->to_string() : grant->rights.name) + ")";
}

std::string Access::place_of(const transfer::Client& client) const {
    if (command_.to_stdout) return {};
    const auto grant = grant_of(client);
    if (client.key && !grant) return {};
    return seen_from_elsewhere(grant ? directory_of(command_, grant->rights) : command_.directory);
}

Rate Access::rate_of(const transfer::Client& client) const {
    const auto grant = grant_of(client);
    return grant ? grant->rights.rate : Rate::infinite();
}

Result<transfer::LandingOptions> Access::push(const transfer::Client& client) const {
    const auto grant = grant_of(client);
    if (client.key && !grant) return removed();
    const KeyRights* const rights = grant ? &grant->rights : nullptr;
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
    if (command_.to_stdout) {
        options.stream_fd = STDOUT_FILENO;
    } else if (const auto same = places_.check(place); !same) {
        return same.error();
    }
    options.resume = !command_.common.no_resume;
    options.receipt = receipt_;
    options.allow_erase = command_.allow_delete;
    options.allow_set_id = command_.allow_set_id;
    options.keep_base = true;
    options.min_free = command_.min_free;
    if (grant) options.quota = grant->quota;
    options.overwrite = command_.overwrite;
    return options;
}

Result<transfer::OfferOptions> Access::pull(const transfer::Client& client) const {
    const auto grant = grant_of(client);
    if (client.key && !grant) return removed();
    const KeyRights* const rights = grant ? &grant->rights : nullptr;
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
