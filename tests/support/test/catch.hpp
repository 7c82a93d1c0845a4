// One include for Catch2 2.x (Debian 12, Ubuntu 22.04) and 3.x (newer systems).
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
