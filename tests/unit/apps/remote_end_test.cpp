#include "ssh/remote_end.hpp"

#include "options/flags.hpp"
#include "ssh/bootstrap.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

Address v4(std::uint8_t last) {
    Address address;
    address.family = Address::Family::v4;
    address.ip = {192, 0, 2, last};
    return address;
}
using Addresses = std::vector<Address>;

/// Takes the flags as a command does.
Result<void> take(SshOptions& options, std::vector<std::string> arguments) {
    CLI::App app;
    Flags flags(app);
    options.define(flags);
    if (const auto parsed = parse_arguments(app, std::move(arguments)); !parsed) return parsed.error();
    return flags.check();
}

}  // namespace

TEST_CASE("the address that ssh reached is tried") {
    // ssh reached one of the name's addresses, with or without a proxy.
    CHECK(addresses_to_try({v4(1), v4(2)}, v4(2), false) == Addresses{v4(2)});
    CHECK(addresses_to_try({v4(1), v4(2)}, v4(2), true) == Addresses{v4(2)});
    // Behind a NAT the far end reports another address: only the name's addresses lead there.
    CHECK(addresses_to_try({v4(1), v4(2)}, v4(9), false) == Addresses{v4(1), v4(2)});
    // Behind a jump host the name may not resolve here, or may resolve to another host.
    CHECK(addresses_to_try({}, v4(9), true) == Addresses{v4(9)});
    CHECK(addresses_to_try({v4(1)}, v4(9), true) == Addresses{v4(1), v4(9)});
    CHECK(addresses_to_try({}, v4(9), false) == Addresses{v4(9)});
    CHECK(addresses_to_try({v4(1)}, std::nullopt, true) == Addresses{v4(1)});
    CHECK(addresses_to_try({}, std::nullopt, false).empty());

    // Only this host knows the zone of a link-local address.
    Address zoned = v4(1);
    zoned.family = Address::Family::v6;
    Address there = zoned;
    zoned.scope = 3;
    CHECK(addresses_to_try({zoned}, there, false) == Addresses{zoned});
}

TEST_CASE("the far end's own addresses are tried too, without those that lead nowhere new") {
    const std::vector<Interface> here{{"lo", 1, {}}, {"docker0", 2, {v4(7)}}};
    CHECK(own_addresses_to_try({v4(1), v4(2), v4(7), v4(3), v4(2)}, {v4(1)}, here) == Addresses{v4(2), v4(3)});
    CHECK(own_addresses_to_try({}, {v4(1)}, here).empty());
    Addresses many;
    for (std::uint8_t i = 100; i < 130; ++i) many.push_back(v4(i));
    CHECK(own_addresses_to_try(many, {v4(1)}, here).size() == kMostOwnAddresses);
    // The same bytes of another family are another address.
    Address six = v4(1);
    six.family = Address::Family::v6;
    CHECK(own_addresses_to_try({six}, {v4(1)}, here) == Addresses{six});
}

TEST_CASE("commands are taken apart as a shell would") {
    using Words = std::vector<std::string>;
    CHECK(split_command("ssh").value() == Words{"ssh"});
    CHECK(split_command("  ssh\t-F 'a b'  -o \"x y\"z \\'q ''").value() ==
          Words{"ssh", "-F", "a b", "-o", "x yz", "'q", ""});
    CHECK(split_command("'a\\b' \"c\\\"d\"").value() == Words{"a\\b", "c\"d"});
    CHECK_FALSE(split_command("").ok());
    CHECK_FALSE(split_command("  ").ok());
    CHECK_FALSE(split_command("ssh 'x").ok());
}

TEST_CASE("the command that starts the other side holds flags and no secret") {
    SshOptions options;
    REQUIRE(take(options, {"-P", "2222", "-i", "id file"}).ok());
    const SshTarget target{"me", "far", "x y"};
    const auto words = remote_command(options, target, AddressChoice::v6_only, "udtx-recv");
    const std::vector<std::string> beginning{"ssh", "-p", "2222", "-i", "id file", "-6"};
    CHECK(std::equal(beginning.begin(), beginning.end(), words.begin()));
    REQUIRE(words.size() > 3);
    CHECK(words[words.size() - 3] == "--");
    CHECK(words[words.size() - 2] == "me@far");
    const std::string path = "sh -c 'PATH=\"$PATH:$HOME/.local/bin:/usr/local/bin\"; ";
    CHECK(words.back() == path + "exec udtx-recv --bootstrap -6'");

    // A program other than OpenSSH's ssh gets none of OpenSSH's flags.
    REQUIRE(take(options, {"--ssh", "/opt/plink -batch", "--remote-bin", "~/bin/udtx-recv"}).ok());
    CHECK(remote_command(options, target, AddressChoice::any, "udtx-recv") ==
          std::vector<std::string>{"/opt/plink", "-batch", "-p", "2222", "-i", "id file", "me@far",
                                   path + "p=~/bin/udtx-recv; if [ -d \"$p\" ]; then p=\"$p/udtx-recv\"; elif ! "
                                          "command -v \"$p\" >/dev/null && command -v \"$p-recv\" >/dev/null; then "
                                          "p=\"$p-recv\"; fi; exec \"$p\" --bootstrap'"});
}

TEST_CASE("one value of --remote-bin names both programs of the pair") {
    SshOptions options;
    const auto named = [&](const std::string& value, const std::string& program) {
        options.remote_bin = value;
        return remote_name(options, program);
    };
    CHECK(named("", "udtx-send") == "udtx-send");
    CHECK(named("udtx-recv", "udtx-send") == "udtx-send");
    CHECK(named("/opt/udtx-send", "udtx-recv") == "/opt/udtx-recv");
    CHECK(named("/opt/udtx-recv", "udtx-recv") == "/opt/udtx-recv");
    CHECK(named("sudo -n /opt/udtx-send", "udtx-recv") == "sudo -n /opt/udtx-recv");
    CHECK(named("/opt/my-udtx-send", "udtx-recv") == "/opt/my-udtx-send");
    CHECK(named("/opt", "udtx-recv") == "/opt");
    // What is not one plain word is for the remote shell.
    CHECK(remote_line(options, "udtx-recv", " doctor").starts_with("sh -c "));
    options.remote_bin = "sudo udtx-send";
    CHECK(remote_line(options, "udtx-recv", " doctor") == "sudo udtx-recv doctor");
}

TEST_CASE("the remedy is ssh with all that it was called with") {
    const SshTarget target{"me", "far", "x"};
    SshOptions options;
    REQUIRE(take(options, {}).ok());
    CHECK(login_command(options, target) == "ssh me@far");
    REQUIRE(take(options, {"-P", "2222", "-i", "id file", "--ssh", "ssh -F other/config"}).ok());
    CHECK(login_command(options, target) == "ssh -F other/config -p 2222 -i 'id file' me@far");
}

TEST_CASE("--timeout bounds the time that OpenSSH has to reach the host, and no other ssh's") {
    const SshTarget target{"", "far", "x"};
    SshOptions options;
    REQUIRE(take(options, {}).ok());
    const auto told = [&] {
        for (const std::string& word : remote_command(options, target, AddressChoice::any, "udtx-recv")) {
            if (word.starts_with("-oConnectTimeout=")) return word.substr(17);
        }
        return std::string();
    };
    CHECK(told().empty());
    options.patience = std::chrono::milliseconds(1500);
    CHECK(told() == "2");
    options.command = {"plink"};
    CHECK(told().empty());
}

TEST_CASE("which port the other side opens stands in its command line") {
    for (const AddressChoice addresses : {AddressChoice::any, AddressChoice::v4_only, AddressChoice::v6_only}) {
        for (const PortRange ports : {PortRange{}, PortRange{7000, 7000}, PortRange{60000, 60010}}) {
            const BootstrapPort wanted{ports, addresses};
            CHECK(parse_bootstrap_port(to_arguments(wanted)).value() == wanted);
        }
    }
    CHECK(to_arguments({}).empty());
    for (const auto& bad : std::vector<std::vector<std::string>>{{"-O"}, {"-O", "x"}, {"-p", "7"}, {"7000"}}) {
        CHECK_FALSE(parse_bootstrap_port(bad).ok());
    }
}

TEST_CASE("flags for ssh are checked") {
    CLI::App app;
    Flags flags(app);
    SshOptions ports;
    ports.define(flags);
    REQUIRE(parse_arguments(app, {"--udp-port", "60000-60010"}));
    REQUIRE(flags.check().ok());
    CHECK(ports.udp_ports == PortRange{60000, 60010});
    Origins origins;
    const auto refused = SshOptions::refuse(flags, origins, "is not for this");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "--udp-port is not for this");
    origins.note("--udp-port", "a file");
    CHECK(SshOptions::refuse(flags, origins, "is not for this"));
    for (const char* bad : {"0", "x", "22-23", "99999"}) {
        SshOptions wrong;
        CHECK_FALSE(take(wrong, {"-P", bad}).ok());
    }
}

TEST_CASE("keys and greetings") {
    BootstrapKey key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i * 9);
    CHECK(parse_key(to_hex(key)) == key);
    CHECK_FALSE(parse_key(""));
    CHECK_FALSE(parse_key(std::string(64, 'g')));
    CHECK_FALSE(parse_key(std::string(63, '0')));

    const std::string line = own_greeting();
    auto greeting = parse_greeting(std::string_view(line).substr(0, line.size() - 1));
    REQUIRE(greeting);
    CHECK(check_greeting(*greeting).ok());
    ++greeting->transfer;
    ++greeting->bootstrap;
    CHECK(check_greeting(*greeting).ok());
    greeting->transfer = transfer::kOldestTransferVersion - 1;
    CHECK_FALSE(check_greeting(*greeting).ok());
}
