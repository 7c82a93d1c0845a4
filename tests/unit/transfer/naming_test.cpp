#include "transfer/file/quirks/folded_names.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "udtx/descriptor.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

TEST_CASE("names that a file system may take for one are alike, others are not") {
    CHECK(rough_name("README.txt") == rough_name("readme.TXT"));
    CHECK(rough_name("caf\xc3\xa9") == rough_name("cafe\xcc\x81"));
    CHECK(rough_name("name.") == rough_name("name"));
    CHECK(rough_name("name") != rough_name("name2"));
    CHECK(rough_name("cafe") != rough_name("caf"));
}

TEST_CASE("an entry is found by its inode number, else by its looks, else nothing is sure") {
    const TemporaryDirectory temp;
    write_file(temp / "one", "1");
    write_file(temp / "two", "22");
    const UniqueFd fd(::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY));
    std::vector<ListedEntry> listed{{"one", {}}, {"two", {}}};
    for (ListedEntry& entry : listed) REQUIRE(look_at_entry(fd.get(), entry.name.c_str(), entry.facts) == 0);
    OtherwiseRead otherwise(listed);
    EntryFacts facts = listed[1].facts;
    otherwise.add("d/anything", "anything", facts);
    CHECK(otherwise.all_numbered());
    facts.inode += 1000000;
    otherwise.add("d/TWO", "TWO", facts);
    CHECK(otherwise.doubtful().empty());
    CHECK(otherwise.names_of(listed[0]).empty());
    CHECK(otherwise.names_of(listed[1]) == std::vector<std::string>{"d/anything", "d/TWO"});
    otherwise.add("d/other", "other", facts);
    CHECK(otherwise.doubtful() == std::vector<std::string>{"d/other"});
}
