// Follows interfaces by name. An interface that is deleted and made again (a modem, a driver) keeps its name but gets
// another index.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace udtx::io {

class InterfaceIndices {
  public:
    /// Converts index to name and name to index. The result is empty, or 0, if the interface does not exist.
    struct Lookup {
        std::function<std::string(std::uint32_t)> name;
        std::function<std::uint32_t(const std::string&)> index;
    };
    static Lookup system();

    explicit InterfaceIndices(Lookup lookup = system()) : lookup_(std::move(lookup)) {}

    /// The present index of the interface that had the index `first` when it was first looked up. 0 stays 0.
    [[nodiscard]] std::uint32_t current(std::uint32_t first);
    /// Call it after ENODEV. True if an interface of that name now has another index.
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
