// Catch2 3 has its main() in a separate library; for Catch2 2 it is compiled here.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
