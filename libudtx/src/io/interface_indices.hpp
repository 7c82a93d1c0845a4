// Interfaces that are deleted and made anew (a modem, a driver) keep their name and get another index.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace udtx::io {

class InterfaceIndices {
  public:
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
    Known& find(std::uint32_t first);

    std::vector<Known> known_;
};

}  // namespace udtx::io
