#include "config/settings.hpp"

#include <sys/stat.h>

#include <fstream>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::apps;
using udtx::test::TemporaryDirectory;

TEST_CASE("A file has a top for every run and blocks for hosts") {
    const auto file = parse_config(
        "# comment\n"
        "rate 500M\n"
        "\n"
        "Host dc? !dc9 *.lab\n"
        "\tMIN_RATE = 5M\n"
        "  psk-file \"~/a key\"\r\n",
        "F");
    REQUIRE(file);
    REQUIRE(file->blocks.size() == 2);
    REQUIRE(file->blocks[0].settings.size() == 1);
    CHECK(file->blocks[0].settings[0].key == "rate");
    CHECK(file->blocks[0].settings[0].value == "500M");
    CHECK(file->blocks[0].settings[0].line == 2);
    const HostBlock& block = file->blocks[1];
    REQUIRE(block.settings.size() == 2);
    CHECK(block.settings[0].key == "min-rate");
    CHECK(block.settings[0].value == "5M");
    CHECK(block.settings[1].value == "~/a key");
    CHECK(block.settings[1].line == 6);

    CHECK(block.applies_to("dc1"));
    CHECK(block.applies_to("DC1"));
    CHECK(block.applies_to("a.lab"));
    CHECK_FALSE(block.applies_to("dc9"));
    CHECK_FALSE(block.applies_to("dc10"));
    CHECK_FALSE(block.applies_to(""));
    CHECK(file->blocks[0].applies_to(""));
}

TEST_CASE("What is wrong in a file is told with its line") {
    const auto told = [](const char* text) {
        const auto file = parse_config(text, "F");
        REQUIRE_FALSE(file);
        CHECK(file.error().code == ErrorCode::invalid_argument);
        return file.error().message;
    };
    CHECK(told("rate\n") == "F:1: 'rate' has no value");
    CHECK(told("\nHost  \n") == "F:2: 'host' has no value");
    CHECK(told("psk-file \"x\n") == "F:1: the closing quote is missing");
    CHECK(told("= 3\n").starts_with("F:1: a line is"));
}

TEST_CASE("A file that others may write is not read; a missing one is no error") {
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "config";
    const auto missing = read_config(path);
    REQUIRE(missing);
    CHECK_FALSE(missing->has_value());

    std::ofstream(path) << "rate 5M\n";
    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    const auto read = read_config(path);
    REQUIRE(read);
    REQUIRE(read->has_value());
    CHECK((*read)->blocks[0].settings[0].value == "5M");

    REQUIRE(::chmod(path.c_str(), 0664) == 0);
    const auto refused = read_config(path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("chmod go-w") != std::string::npos);

    const auto not_a_file = read_config(directory.path().string());
    CHECK_FALSE(not_a_file);
}
