#include "config/settings.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <sstream>

#include "common/command_line.hpp"
#include "config/generate.hpp"
#include "options/commands.hpp"
#include "options/flags.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

/// The flags of udtx-send with an environment and files that the test provides.
struct Rig {
    Rig() {
        use_house_style(app);
        command.define(flags);
        layers.environment = [this](const std::string& name) {
            const auto found = environment.find(name);
            return found == environment.end() ? nullptr : found->second.c_str();
        };
        layers.home = "/home/u";
        layers.known = known_settings();
    }

    void file(const std::string& text, const std::string& name = "F") {
        auto parsed = parse_config(text, name);
        REQUIRE(parsed);
        layers.files.push_back(std::move(*parsed));
    }
    Result<Configured> parse(std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"x", "udtx://dc1/"});
        const auto typed = parse_arguments(app, arguments);
        REQUIRE(typed);
        return parse_with_layers(
            app, arguments, [this] { return command.sources.back(); }, layers);
    }
    std::string error(const std::vector<std::string>& arguments) {
        const auto parsed = parse(arguments);
        REQUIRE_FALSE(parsed);
        CHECK(parsed.error().code == ErrorCode::invalid_argument);
        return parsed.error().message;
    }

    CLI::App app{"Sends.", "udtx-send"};
    Flags flags{app};
    SendCommand command;
    Layers layers;
    std::map<std::string, std::string> environment;
};

}  // namespace

TEST_CASE("Flags come before the environment, that before the user's file, that before the system's") {
    Rig rig;
    rig.environment = {{"UDTX_RATE", "2M"}, {"UDTX_MIN_RATE", "20K"}, {"UDTX_CC", ""}};
    rig.file("rate 3M\nmin-rate 30K\ncc udt\n", "user");
    rig.file("rate 4M\nmin-rate 40K\ncc cd\nmtu 1400\n", "system");
    REQUIRE(rig.parse({"--rate", "1M"}));
    CHECK(rig.command.common.rate_text == "1M");
    CHECK(rig.command.common.min_rate_text == "20K");
    CHECK(rig.command.common.congestion == "udt");  // an empty variable counts as unset
    CHECK(rig.command.common.mtu_text == "1400");
    CHECK(rig.command.sources == std::vector<std::string>{"x", "udtx://dc1/"});
}

TEST_CASE("The first value of a file for this host is taken; a repeatable flag takes all of one file's") {
    Rig rig;
    rig.file("Host other\nrate 1M\npath 10.0.0.9\nHost dc1\nrate 2M\npath 10.0.0.1\nHost *\nrate 3M\npath 10.0.0.2\n");
    rig.file("path 10.0.0.3\n", "system");
    REQUIRE(rig.parse({}));
    CHECK(rig.command.common.rate_text == "2M");
    CHECK(rig.command.paths.texts == std::vector<std::string>{"10.0.0.1", "10.0.0.2"});

    SECTION("typed ones replace them") {
        REQUIRE(rig.parse({"--path", "10.0.0.7"}));
        CHECK(rig.command.paths.texts == std::vector<std::string>{"10.0.0.7"});
    }
}

TEST_CASE("Switches are yes or no, a file's no can be overruled, and what excludes what was typed is left out") {
    Rig rig;
    rig.environment = {{"UDTX_PSK_FILE", "env.key"}};
    rig.file("verbose yes\njson off\nipv4 on\npsk-file ~/k\n");
    REQUIRE(rig.parse({"--json", "-6", "--identity", "me"}));
    CHECK(rig.command.common.verbose);
    CHECK(rig.command.common.json);
    CHECK_FALSE(rig.command.common.ipv4);
    CHECK(rig.command.common.psk_file.empty());

    SECTION("from the command line") {
        REQUIRE(rig.parse({"--verbose=false"}));
        CHECK_FALSE(rig.command.common.verbose);
        CHECK(rig.command.common.ipv4);
        CHECK(rig.command.common.psk_file == "env.key");
    }
    SECTION("a home in a file's name") {
        rig.environment.clear();
        REQUIRE(rig.parse({}));
        CHECK(rig.command.common.psk_file == "/home/u/k");
    }
}

TEST_CASE("A flag's other name means the same wherever the flag may stand, and no list has it") {
    Rig rig;
    CHECK(rig.app.help().find("--streams") == std::string::npos);
    SECTION("typed") {
        rig.environment = {{"UDTX_STREAMS", "5"}};
        rig.file("streams 6\n");
        REQUIRE(rig.parse({"--streams", "4"}));
        CHECK(rig.command.common.threads_text == "4");
        REQUIRE(rig.parse({"--streams=3"}));
        CHECK(rig.command.common.threads_text == "3");
    }
    SECTION("in the environment, after its own name there") {
        rig.environment = {{"UDTX_STREAMS", "5"}};
        rig.file("threads 6\n");
        REQUIRE(rig.parse({}));
        CHECK(rig.command.common.threads_text == "5");
        rig.environment["UDTX_THREADS"] = "7";
        REQUIRE(rig.parse({}));
        CHECK(rig.command.common.threads_text == "7");
    }
    SECTION("in a file") {
        rig.file("streams 6\n");
        REQUIRE(rig.parse({}));
        CHECK(rig.command.common.threads_text == "6");
    }
}

TEST_CASE("What is wrong in a file names it and its line") {
    Rig rig;
    SECTION("an unknown setting, also for another host") {
        rig.file("Host z\nrat 5M\n");
        CHECK(rig.error({}) == "F:2: unknown setting 'rat'; did you mean rate?");
    }
    SECTION("a switch") {
        rig.file("\nverbose maybe\n");
        CHECK(rig.error({}) == "F:2: 'verbose' must be yes or no, not 'maybe'");
    }
    SECTION("settings of the other tool are known") {
        rig.file("authorized-keys ~/keys\n");
        CHECK(rig.parse({}));
    }
    SECTION("a value") {
        rig.file("rate fast\n");
        const auto parsed = rig.parse({});
        REQUIRE(parsed);
        const auto checked = rig.flags.check();
        REQUIRE_FALSE(checked);
        CHECK(parsed->origins.attribute(checked.error()).message.ends_with("(set by F:1)"));
    }
}

TEST_CASE("HostName and Port of a block say where a host is; a typed port stays") {
    Rig rig;
    rig.file("Host dc1\nHostName 192.0.2.7\nPort 9000\n");
    const auto parsed = rig.parse({});
    REQUIRE(parsed);
    auto url = parse_url("udtx://dc1/a");
    REQUIRE(url);
    REQUIRE(parsed->place(*url));
    CHECK(authority(*url) == "192.0.2.7:9000");
    auto typed = parse_url("udtx://dc1:7/a");
    REQUIRE(typed);
    REQUIRE(parsed->place(*typed));
    CHECK(authority(*typed) == "192.0.2.7:7");

    Rig wrong;
    wrong.file("Host dc1\nPort http\n");
    const auto other = wrong.parse({});
    REQUIRE(other);
    CHECK_FALSE(other->place(*url));
}

TEST_CASE("The name that a target is looked up by") {
    CHECK(host_of("udtx://dc1:70/x") == "dc1");
    CHECK(host_of("udtx://[::1]:70/x") == "::1");
    CHECK(host_of("u@dc2:dir/file") == "dc2");
    CHECK(host_of("dc2:") == "dc2");
    CHECK(host_of("./a:b").empty());
    CHECK(host_of("file").empty());
    CHECK(host_of("").empty());
}

TEST_CASE("A typed switch that is off excludes nothing") {
    Rig rig;
    rig.file("verbose yes\n");
    REQUIRE(rig.parse({"--quiet=false"}));
    CHECK(rig.command.common.verbose);
}

TEST_CASE("--show-config gives every value with its origin, and is a configuration again") {
    Rig rig;
    rig.environment = {{"UDTX_CC", "udt"}};
    rig.file("Host dc1\nrate 2M\n");
    const auto parsed = rig.parse({"-v"});
    REQUIRE(parsed);
    const std::string text =
        show_config(rig.app, *parsed, rig.layers, [](const std::string&) { return std::string(); });
    const auto has = [&](const std::string& key, const std::string& value, const std::string& origin) {
        for (std::size_t at = 0; (at = text.find("\n" + key + " ", at)) != std::string::npos; ++at) {
            const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
            if (line.find(" " + value + " ") != std::string::npos && line.ends_with("# " + origin)) return true;
        }
        return false;
    };
    INFO(text);
    CHECK(has("rate", "2M", "F:2"));
    CHECK(has("cc", "udt", "UDTX_CC"));
    CHECK(has("verbose", "yes", "command line"));
    CHECK(has("json", "no", "default"));
    CHECK(has("mtu", "auto", "default"));
    CHECK(text.find("\n# bwlimit ") != std::string::npos);  // a comment: it is unset
    CHECK(text.find("\nbwlimit ") == std::string::npos);
}

TEST_CASE("--show-config gives the values that apply") {
    const auto shown = [](const std::vector<std::string>& arguments, const std::string& file = "") {
        Rig rig;
        rig.file(file);
        const auto parsed = rig.parse(arguments);
        REQUIRE(parsed);
        const auto computed = [](const std::string& key) { return std::string(key == "timeout" ? "600" : ""); };
        return show_config(rig.app, *parsed, rig.layers, computed);
    };
    const auto has = [](const std::string& text, const std::string& key, const std::string& value,
                        const std::string& origin) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            std::string wanted = key + std::string(key.size() < 17 ? 17 - key.size() : 0, ' ') + ' ' + value;
            wanted += std::string(value.size() < 27 ? 27 - value.size() : 0, ' ') + " # " + origin;
            if (line == wanted) return true;
        }
        return false;
    };
    const std::string plain = shown({});
    INFO(plain);
    CHECK(has(plain, "links", "yes", "default"));
    CHECK(has(plain, "owner", "no", "default"));
    CHECK(has(plain, "# timeout", "600", "default"));
    CHECK(has(plain, "# rate", "(not set)", "default"));
    CHECK(has(shown({"--safe-links"}), "links", "no", "default"));
    const std::string archive = shown({"-a", "--no-links", "-q"});
    CHECK(has(archive, "links", "no", "default"));
    CHECK(has(archive, "preserve", "yes", "--archive"));
    CHECK(has(archive, "owner", "yes", "--archive"));
    CHECK(has(shown({"-a"}, "preserve no\n"), "preserve", "yes", "--archive"));
    // Without the origins it is a configuration file with the same effect: a switch that is off excludes nothing.
    std::istringstream lines(archive);
    std::string settings;
    for (std::string line; std::getline(lines, line);) settings += line.substr(0, line.find('#')) + '\n';
    Rig again;
    again.file(settings);
    REQUIRE(again.parse({}));
    CHECK(again.command.tree.no_links);
    CHECK_FALSE(again.command.tree.links);
    CHECK(again.command.tree.archive);
    CHECK(again.command.common.quiet);
}

TEST_CASE("Texts made from the flags name every one of them") {
    const Rig rig;
    for (const char* what : {"man", "complete-bash", "complete-zsh", "complete-fish"}) {
        const auto text = generate_text(rig.app, {}, manual_of, what);
        REQUIRE(text);
        for (const std::string& name : setting_names(rig.app)) {
            std::string looked_for = name;
            if (std::string(what) == "man") {
                for (std::size_t at = 0; (at = looked_for.find('-', at)) != std::string::npos; at += 2) {
                    looked_for.replace(at, 1, "\\-");
                }
            }
            INFO(what << ": " << name);
            CHECK(text->find(looked_for) != std::string::npos);
        }
    }
    CHECK_FALSE(generate_text(rig.app, {}, manual_of, "pdf"));
}
