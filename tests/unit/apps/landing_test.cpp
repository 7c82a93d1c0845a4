#include "common/locations.hpp"

#include "test/catch.hpp"

using namespace udtx::apps;

TEST_CASE("the shape of sources as it is told over ssh") {
    for (const SourceShape shape : {SourceShape::file, SourceShape::directory, SourceShape::contents,
                                    SourceShape::several, SourceShape::stream}) {
        CHECK(parse_source_shape(to_string(shape)) == shape);
    }
    CHECK_FALSE(parse_source_shape("x"));
}

TEST_CASE("home directories") {
    CHECK(expand_home("x/~") == "x/~");
    CHECK(expand_home("") == "");
    CHECK(expand_home("~root/x").ends_with("/x"));
    CHECK_FALSE(expand_home("~root/x").starts_with('~'));
    CHECK(expand_home("~no-such-user-here/x") == "~no-such-user-here/x");
}
