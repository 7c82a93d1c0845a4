// Makes the controllers of a connection, built-in or the application's own, with policy and coupling around them.
#pragma once

#include <memory>
#include <string_view>

#include "congestion/coupling.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Settings that only the library itself passes.
struct Surroundings {
    Coupling coupling = Coupling::none;
    std::shared_ptr<CouplingGroup> group{};  ///< the connection's group; null: a path by itself
    double cd_alpha = 0.3;                   ///< `cd`: a lower congestion degree means no congestion ...
    double cd_beta = 0.7;                    ///< ... and a higher one means severe congestion
    bool udt_as_printed = false;             ///< `udt` and `cd`: UdtForm::printed
};

/// Makes a controller by `own`, or if that is empty, the one called `name`. invalid_argument: the name is unknown, or
/// `own` returns null or throws.
[[nodiscard]] Result<std::unique_ptr<CongestionController>> make_controller(std::string_view name,
                                                                            const CongestionFactory& own,
                                                                            const CongestionOptions& options,
                                                                            const Surroundings& around);

}  // namespace udtx::congestion
