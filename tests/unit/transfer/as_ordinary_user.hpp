// File permissions as an ordinary user meets them.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

namespace udtx::test {

/// Runs a test as an ordinary user, because permissions do not restrict root.
class AsOrdinaryUser {
  public:
    explicit AsOrdinaryUser(const fs::path& directory) {
        if (::geteuid() != 0) return;
        constexpr uid_t kNobody = 65534;
        REQUIRE(::chown(directory.c_str(), kNobody, kNobody) == 0);
        REQUIRE(::seteuid(kNobody) == 0);
        was_root_ = true;
    }
    ~AsOrdinaryUser() {
        if (was_root_ && ::seteuid(0) != 0) std::abort();
    }
    AsOrdinaryUser(const AsOrdinaryUser&) = delete;
    AsOrdinaryUser& operator=(const AsOrdinaryUser&) = delete;

  private:
    bool was_root_ = false;
};

inline mode_t mode_of(const fs::path& path) {
    struct stat st = {};
    REQUIRE(::stat(path.c_str(), &st) == 0);
    return st.st_mode & 07777U;
}

}  // namespace udtx::test
