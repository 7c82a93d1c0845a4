#include "udtx/credentials.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "tls_pair.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

void write(const std::filesystem::path& path, const std::string& text, mode_t mode = 0600) {
    std::ofstream(path, std::ios::binary) << text;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
}

std::string read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

unsigned mode_of(const std::filesystem::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

const std::string kZeroKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

}  // namespace

TEST_CASE("A pre-shared key file is made once, for its owner only, and can be read") {
    const TemporaryDirectory directory;
    const auto path = directory / "key";
    REQUIRE(Credentials::write_psk_file(path).ok());
    CHECK(mode_of(path) == 0600);
    const std::string text = read(path);
    CHECK(text.substr(0, 11) == "udtx-psk-1 ");
    CHECK(text.size() == 11 + 44 + 1);

    const auto again = Credentials::write_psk_file(path);
    REQUIRE_FALSE(again.ok());
    CHECK(again.error().code == ErrorCode::file_io);
    CHECK(again.error().system_error == EEXIST);
    CHECK(read(path) == text);

    const auto one = Credentials::from_psk_file(path);
    REQUIRE(one.ok());
    CHECK(one->uses_psk());
    CHECK_FALSE(one->public_key().has_value());
    TlsPair pair(*one, *Credentials::from_psk_file(path));
    pair.run();
    CHECK(pair.connected());

    REQUIRE(Credentials::write_psk_file(directory / "other").ok());
    CHECK(read(directory / "other") != text);
}

TEST_CASE("A key file that others can read is refused with the remedy") {
    const TemporaryDirectory directory;
    const auto path = directory / "key";
    REQUIRE(Credentials::write_psk_file(path).ok());
    for (const mode_t mode : {0640U, 0604U, 0660U, 0644U}) {
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        const auto result = Credentials::from_psk_file(path);
        REQUIRE_FALSE(result.ok());
        CHECK(result.error().code == ErrorCode::authentication);
        CHECK(result.error().message.find("chmod 600") != std::string::npos);
    }
    REQUIRE(::chmod(path.c_str(), 0400) == 0);
    CHECK(Credentials::from_psk_file(path).ok());
}

TEST_CASE("Malformed key files are refused, and their content is not repeated") {
    const TemporaryDirectory directory;
    const auto path = directory / "key";
    for (const std::string& text :
         {std::string(), std::string("\n"), kZeroKey, "udtx-psk-1 " + kZeroKey.substr(1), "udtx-psk-2 " + kZeroKey,
          "udtx-psk-1 " + kZeroKey + kZeroKey, "udtx-psk-1 " + std::string(44, '*'),
          "udtx-psk-1 " + std::string(42, 'A') + "B=", "udtx-psk-1 " + std::string(44, 'A'), std::string(5000, 'A'),
          "udtx-psk-1 " + kZeroKey + "\nudtx-psk-1 " + kZeroKey}) {
        write(path, text);
        const auto result = Credentials::from_psk_file(path);
        INFO(text);
        REQUIRE_FALSE(result.ok());
        CHECK(result.error().code == ErrorCode::malformed);
        CHECK(result.error().message.find("AAAA") == std::string::npos);
    }
    write(path, "udtx-psk-1 " + kZeroKey + "\r\n");
    CHECK(Credentials::from_psk_file(path).ok());
}

TEST_CASE("Missing files and directories are file errors that name the path") {
    const TemporaryDirectory directory;
    for (const auto& path : {directory / "none", directory / ""}) {
        for (const auto& result : {Credentials::from_psk_file(path), Credentials::from_identity_file(path)}) {
            REQUIRE_FALSE(result.ok());
            CHECK(result.error().code == ErrorCode::file_io);
            CHECK(result.error().message.find((directory / "").string()) != std::string::npos);
        }
    }
    CHECK(Credentials::from_psk_file(directory / "none").error().system_error == ENOENT);
    const auto made = Credentials::write_psk_file(directory / "no/such/key");
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().code == ErrorCode::file_io);
    CHECK(made.error().system_error == ENOENT);
}

TEST_CASE("An identity is made in two files and keeps its public key") {
    const TemporaryDirectory directory;
    const auto path = directory / "id";
    REQUIRE(Credentials::write_identity(path).ok());
    CHECK(mode_of(path) == 0600);
    CHECK((mode_of(directory / "id.pub") & 0600U) == 0600U);
    const auto identity = Credentials::from_identity_file(path);
    REQUIRE(identity.ok());
    CHECK_FALSE(identity->uses_psk());
    CHECK(read(directory / "id.pub") == identity->public_key()->to_string() + "\n");
    write(directory / "taken.pub", "mine");
    for (const auto& taken : {path, directory / "taken"}) {
        const auto again = Credentials::write_identity(taken);
        REQUIRE_FALSE(again.ok());
        CHECK(again.error().code == ErrorCode::file_io);
        CHECK(again.error().system_error == EEXIST);
    }
    CHECK_FALSE(std::filesystem::exists(directory / "taken"));
    CHECK(read(directory / "taken.pub") == "mine");

    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    CHECK(Credentials::from_identity_file(path).error().code == ErrorCode::authentication);
    write(path, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    CHECK(Credentials::from_identity_file(path).error().code == ErrorCode::malformed);
}

TEST_CASE("Public keys have one text form") {
    const auto key = PublicKey::parse("udtx-ed25519 " + kZeroKey + " alice@host");
    REQUIRE(key.ok());
    CHECK(key->to_string() == "udtx-ed25519 " + kZeroKey);
    for (const std::string text : {"", "udtx-ed25519", "udtx-ed25519 ", "ssh-ed25519 AAAA", "udtx-ed25519 AAAA"}) {
        CHECK_FALSE(PublicKey::parse(text).ok());
    }
}

TEST_CASE("A file of trusted keys is taken as a whole or not at all") {
    const TemporaryDirectory directory;
    Credentials client = identity(directory, "client");
    Credentials server = identity(directory, "server");
    const auto path = directory / "authorized";
    write(path, "# people\n\n  " + client.public_key()->to_string() + " client@host\r\nnonsense\n", 0644);
    const auto bad = server.trust_file(path);
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().message.find("line 4") != std::string::npos);
    REQUIRE(client.trust(*server.public_key()).ok());
    {
        TlsPair pair(client, server);
        pair.run();
        CHECK_FALSE(pair.connected());
    }
    write(path, "# people\n\n  " + client.public_key()->to_string() + " client@host", 0644);
    const Credentials before = server;
    REQUIRE(server.trust_file(path).ok());
    {
        TlsPair pair(client, server);
        pair.run();
        CHECK(pair.connected());
    }
    {
        TlsPair pair(client, before);  // a copy made before keeps the old keys
        pair.run();
        CHECK_FALSE(pair.connected());
    }
    Credentials shared = psk(1);
    CHECK(shared.trust_file(path).error().code == ErrorCode::invalid_argument);
}
