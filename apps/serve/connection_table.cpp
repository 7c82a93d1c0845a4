#include "serve/connection_table.hpp"

#include <algorithm>

#include "serve/key_budget.hpp"

namespace udtx::apps {

Result<ConnectionTable::Connection> ConnectionTable::admit(std::uint64_t owner,
                                                           const std::function<Connection()>& make) {
    const std::lock_guard lock(mutex_);
    if (closed_) return Error{ErrorCode::interrupted, "the receiver is being stopped"};
    if (one_off_ && admitted_) {
        return Error{ErrorCode::refused, "the receiver serves one transfer only (--one-off)"};
    }
    if (const auto admitted = KeyBudget::admit(under_way_, owner); !admitted) return admitted.error();
    Connection connection = make();
    under_way_.push_back(connection);  // the last that can fail: what is in the list has its connection
    admitted_ = true;
    return connection;
}

ConnectionTable::Connections ConnectionTable::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    return under_way_;
}

ConnectionTable::Connections ConnectionTable::under_way() const {
    const std::lock_guard lock(mutex_);
    return under_way_;
}

ConnectionTable::Connection ConnectionTable::first_done() const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(under_way_, [](const auto& connection) { return connection->done(); });
    return found == under_way_.end() ? nullptr : *found;
}

void ConnectionTable::retire(const Connection& connection, bool was_transfer) {
    over_.push_back(connection);
    const std::lock_guard lock(mutex_);
    std::erase(under_way_, connection);
    if (!was_transfer) admitted_ = !under_way_.empty();
}

void ConnectionTable::release_rested() {
    std::erase_if(over_, [](const auto& one) { return one.use_count() == 1 && one->job().at_rest(); });
}

bool ConnectionTable::all_at_rest() const {
    return std::ranges::all_of(over_, [](const auto& one) { return one->job().at_rest(); });
}

}  // namespace udtx::apps
