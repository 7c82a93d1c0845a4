// What a receiver's sandbox lets it write: exactly what its options require.
#include <string>
#include <vector>

#include "serve/access.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace udtx::test;
using Names = std::vector<std::string>;

namespace {

struct PlacesBench {
    PlacesBench() {
        command.directory = (temp / "dir").string();
        fs::create_directories(temp / "dir");
        fs::create_directories(temp / "kept");
        kept = fs::canonical(temp / "kept").string();
    }
    [[nodiscard]] SandboxPlaces places() const { return places_of(command, {}); }

    TemporaryDirectory temp;
    std::string kept;
    RecvCommand command;
};

}  // namespace

TEST_CASE("A receiver that keeps nothing else writes below its directory") {
    PlacesBench b;
    const SandboxPlaces places = b.places();
    CHECK(places.trees == Names{b.command.directory});
    CHECK(places.files.empty());
    CHECK(places.renames.empty());
    CHECK(places.links.empty());
    b.command.streaming = true;
    CHECK(b.places().trees.empty());
}

TEST_CASE("Around a receipt names come and go, and no more") {
    PlacesBench b;
    b.command.common.receipt = b.kept + "/receipt";
    SECTION("it is new") {}
    SECTION("it is a link to elsewhere: there") {
        fs::create_directories(b.temp / "beside");
        b.command.common.receipt = (b.temp / "beside/receipt").string();
        write_file(b.kept + "/real", "x");
        fs::create_symlink(b.kept + "/real", b.command.common.receipt);
    }
    const SandboxPlaces places = b.places();
    CHECK(places.trees == Names{b.command.directory});
    CHECK(places.renames == Names{b.kept});
    CHECK(places.files.empty());
    CHECK(places.links.empty());
}

TEST_CASE("A report is one file; where it may be removed meanwhile an open one may get its name") {
    PlacesBench b;
    const std::string report = b.kept + "/report.html";
    b.command.common.report = report;
    Names around{b.kept};
    SECTION("it is new") {}
    SECTION("it is a file") { write_file(report, "x"); }
    SECTION("it is a device") {
        fs::create_symlink("/dev/null", report);
        around.clear();
    }
    SECTION("it is a link that leads nowhere") {
        fs::create_symlink(b.kept + "/nowhere", report);
        around.clear();
    }
    const SandboxPlaces places = b.places();
    CHECK(places.trees == Names{b.command.directory});
    CHECK(places.files == Names{report});
    CHECK(places.links == around);
    CHECK(places.renames.empty());
}
