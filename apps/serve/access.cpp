#include "serve/access.hpp"

#include <algorithm>
#include <utility>

#include "control/transfer_card.hpp"
#include "transfer/names.hpp"

namespace udtx::apps {

Access::Access(const RecvCommand& command, const AuthorizedKeys& keys, transfer::ReceiptWriter* receipt)
    : command_(command), keys_(keys), receipt_(receipt) {
    for (const auto& [key, rights] : keys.all()) {
        if (rights.quota > 0) quotas_.emplace(&rights, std::make_shared<transfer::DiskQuota>(rights.quota));
    }
}

Visitor Access::visitor(std::span<const std::byte> key) const {
    Visitor visitor;
    visitor.rights = keys_.find(key);
    if (visitor.rights == nullptr) return visitor;
    visitor.key = transfer::path_key({reinterpret_cast<const char*>(key.data()), key.size()});
    visitor.name = visitor.rights->name;
    if (visitor.name.empty()) {
        PublicKey whole;
        std::copy_n(key.begin(), whole.bytes.size(), whole.bytes.begin());
        visitor.name = whole.to_string();
    }
    visitor.name = " (" + visitor.name + ")";
    return visitor;
}

std::string Access::place_of(const Visitor& visitor) const {
    if (command_.to_stdout) return {};
    return seen_from_elsewhere(visitor.rights == nullptr ? command_.directory
                                                         : directory_of(command_, *visitor.rights));
}

Result<transfer::ReceiveJobOptions> Access::push(const Visitor& visitor) const {
    const KeyRights* rights = visitor.rights;
    if (rights != nullptr && !rights->write) {
        return Error{ErrorCode::refused, "this key may not write here: it lacks the right 'write'"};
    }
    transfer::ReceiveJobOptions options;
    options.directory = command_.directory;
    if (rights != nullptr) options.below = rights->directory;
    const std::string place = rights == nullptr ? options.directory : directory_of(command_, *rights);
    if (const auto same = places_.check(place); !same) return same.error();
    options.resume = !command_.common.no_resume;
    options.to_stream = command_.to_stdout;
    options.receipt = receipt_;
    options.allow_erase = command_.allow_delete;
    options.allow_set_id = command_.allow_set_id;
    options.keep_base = true;
    options.room.min_free = command_.min_free;
    if (const auto quota = quotas_.find(rights); quota != quotas_.end()) options.room.quota = quota->second;
    options.whose = visitor.key;
    options.overwrite = command_.overwrite;
    return options;
}

Result<transfer::ConfinedSources> Access::pull(const Visitor& visitor, const transfer::PullWish& wish) const {
    const KeyRights* rights = visitor.rights;
    if (rights != nullptr && !rights->read) {
        return Error{ErrorCode::refused, "this key may not read here: it lacks the right 'read'"};
    }
    if (rights == nullptr && !command_.allow_read) {
        return Error{ErrorCode::refused, "nothing is fetched from here: the server has to run with --allow-read"};
    }
    if (command_.to_stdout) return Error{ErrorCode::refused, "this receiver has no directory to fetch from"};
    const auto base = transfer::ConfinedDir::open_below(command_.directory, rights == nullptr ? "" : rights->directory);
    if (!base) return base.error();
    return transfer::open_sources_below(*base, wish.what.sources, wish.stream);
}

}  // namespace udtx::apps
