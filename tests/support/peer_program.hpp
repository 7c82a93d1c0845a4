// Helpers for programs that play the peer in a test. They exit with 2 at anything unexpected and use only loopback.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "udtx/address.hpp"
#include "udtx/result.hpp"

namespace udtx::test {

[[noreturn]] inline void die(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::_Exit(2);
}

template <class T>
T need(Result<T> result) {
    if (!result) die(result.error().message);
    return std::move(result).value();
}
inline void need(const Result<void>& result) {
    if (!result) die(result.error().message);
}

inline Address loopback(std::uint16_t port = 0) {
    Address address;
    address.family = Address::Family::v4;
    address.ip = {127, 0, 0, 1};
    address.port = port;
    return address;
}

}  // namespace udtx::test
