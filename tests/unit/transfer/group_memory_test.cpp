#include "transfer/serve/client_budget.hpp"

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx::transfer;
using namespace udtx::test;

namespace {

struct Groups {
    void limit(const std::string& group, const std::string& file, const std::string& text) const {
        fs::create_directories(temp / ("fs" + group));
        write_file(temp / ("fs" + group) / file, text + "\n");
    }
    [[nodiscard]] std::uint64_t of(const std::string& table) const {
        write_file(temp / "table", table);
        return memory_of_groups((temp / "table").string(), (temp / "fs").string());
    }
    TemporaryDirectory temp;
};

}  // namespace

TEST_CASE("of the control groups above a process the tightest counts") {
    const Groups groups;
    groups.limit("/system.slice/udtx.service", "memory.max", "max");
    groups.limit("/system.slice", "memory.max", "3000000000");
    groups.limit("/other", "memory.max", "7");
    CHECK(groups.of("0::/system.slice/udtx.service\n") == 3'000'000'000);
    CHECK(groups.of("0::/\n") == UINT64_MAX);
    groups.limit("", "memory.max", "2000000000");  // in a container, whose own group appears as the root
    CHECK(groups.of("0::/system.slice/udtx.service\n") == 2'000'000'000);
    CHECK(groups.of("0::/machine/not/seen/from/here\n") == 2'000'000'000);
}

TEST_CASE("limits of control groups of version 1 count as well") {
    const Groups groups;
    groups.limit("/memory/docker/a", "memory.limit_in_bytes", "9223372036854771712");
    groups.limit("/memory/docker", "memory.limit_in_bytes", "1000000000");
    CHECK(groups.of("5:cpu,memory:/docker/a\n3:pids:/docker/a\n0::/docker/a\n") == 1'000'000'000);
    CHECK(groups.of("3:pids:/docker/a\nnonsense\n") == UINT64_MAX);
    CHECK(groups.of("") == UINT64_MAX);
}
