// Interfaces that are deleted and made anew (a modem, a driver) keep their name and get another index.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace udtx::io {

class InterfaceIndices {
  public:
    /// Both ways between index and name; empty, or 0, when there is no such interface.
    struct Lookup {
        std::function<std::string(std::uint32_t)> name;
        std::function<std::uint32_t(const std::string&)> index;
    };
    static Lookup system();

    explicit InterfaceIndices(Lookup lookup = system()) : lookup_(std::move(lookup)) {}

    /// The index by now of the interface that had this one when it was first asked for. 0 stays 0.
    [[nodiscard]] std::uint32_t current(std::uint32_t first);
    /// After ENODEV: whether an interface of that name has another index.
    [[nodiscard]] bool renew(std::uint32_t first);

  private:
    struct Known {
        std::uint32_t first = 0;
        std::uint32_t current = 0;
        std::string name;
    };
    /// Null while no interface with this index has been seen.
    Known* find(std::uint32_t first);

    Lookup lookup_;
    std::vector<Known> known_;
};

}  // namespace udtx::io
