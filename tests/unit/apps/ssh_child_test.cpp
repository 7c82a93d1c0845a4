#include "ssh/ssh_child.hpp"

#include <csignal>

#include "test/catch.hpp"

using namespace udtx::apps;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<SshChild> shell(const std::string& script, std::string* complaints = nullptr) {
    auto child = SshChild::start({"sh", "-c", script}, {[complaints](std::string_view line) {
                                                            if (complaints != nullptr) complaints->append(line) += '|';
                                                        },
                                                        [] {}});
    REQUIRE(child.ok());
    return std::move(*child);
}

}  // namespace

TEST_CASE("a child is talked to in lines") {
    std::string complaints;
    const auto child = shell("read x; echo \"got $x\"; printf 'two\\r\\nthree'; echo oh >&2; exit 7", &complaints);
    REQUIRE(child->write("word\n").ok());
    CHECK(child->finish(60s) == 7);
    CHECK(child->next_line() == "got word");
    CHECK_FALSE(child->ended());
    CHECK(child->next_line() == "two");
    CHECK_FALSE(child->next_line());
    CHECK(child->ended());
    CHECK(complaints == "oh|");
}

TEST_CASE("a child that does not end is ended") {
    CHECK(shell("exec sleep 1000")->finish(0ms) == 128 + SIGTERM);
    // The child exits by itself when its input ends, if it has the time.
    CHECK(shell("cat; exit 3")->finish(60s) == 3);
}

TEST_CASE("whoever holds the child's standard error does not hold us") {
    // As a ControlMaster does, a background process keeps standard error open.
    std::string complaints;
    const auto child = shell("sleep 1000 >/dev/null & echo $!; echo bye >&2", &complaints);
    CHECK(child->finish(60s) == 0);
    CHECK(complaints == "bye|");
    const auto pid = child->next_line();
    REQUIRE(pid);
    ::kill(std::stoi(*pid), SIGKILL);
}

TEST_CASE("a program that does not exist is named") {
    const auto child = SshChild::start({"/nowhere/ssh"}, {[](std::string_view) {}, [] {}});
    REQUIRE_FALSE(child.ok());
    CHECK(child.error().message.find("/nowhere/ssh") != std::string::npos);
}
