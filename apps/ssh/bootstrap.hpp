// The messages that both ends exchange over ssh's standard input and output before the connection, and the end that ssh
// starts. docs/using/ssh.md describes the sequence.
//
// Each end first sends a greeting. Then come blocks of lines, each block up to a line "end":
//
//   udtx-bootstrap 3 PROGRAM TRANSFER     3: version of these blocks. PROGRAM: version of the program, for people.
//                                         TRANSFER: transfer::kTransferVersion
//   NAME VALUE
//   end
//
// If a version is older than what the other end still speaks, the run ends with code 12. In a value, bytes up to ' ',
// from 0x7F on and '%' are percent-encoded. A reader skips names that it does not know, except those that begin with
// '!': then the run ends with code 12. Lines before the far end's greeting come from login scripts and are skipped,
// too.
//
// This end sends one block, the request. `+`: the name may be repeated.
//
// | name        | of        | value                                                                              |
// |-------------|-----------|------------------------------------------------------------------------------------|
// | key         | all       | the pre-shared key of this transfer, 64 hexadecimal digits                         |
// | transfer    | all       | the transfer's number; 0: it cannot be resumed                                     |
// | argument +  | all       | flags for the far end: --timeout, --no-resume, --mtu, --streams; in a pull --rate, |
// |             |           | --bwlimit and --cc, too                                                            |
// | shape       | push      | what is sent: file, directory, contents, several or stream                         |
// | destination | push      | DEST as typed                                                                      |
// | dry-run     | push      | 1: report only, create nothing                                                     |
// | name +      | push      | the sources' top-level names, if they are known: at most 256                       |
// | source +    | pull      | SRC as typed                                                                       |
// | selection + | pull      | one block of transfer::pack(); its sources are ignored                             |
// | fresh       | pull      | 1: none of the transferred entries exists here                                     |
// | stream      | pull      | 1: the one file is written to standard output                                      |
// | linger      | all       | seconds that the far end waits for a new connection after it has lost this one and  |
// |             |           | ssh; missing: it ends with ssh                                                     |
// | channel     | all       | 1: behind this block, this end sends datagrams (wire-format.md, section 7), if the |
// |             |           | far end answers with the line "udtx-channel"                                       |
//
// The far end sends up to three blocks. In place of the first or second it sends `error` and `message`, and ends.
//
// | block | name      | value                                                                                    |
// |-------|-----------|------------------------------------------------------------------------------------------|
// | 1     | port      | its UDP port                                                                             |
// |       | address   | the address of its host that ssh connected to (SSH_CONNECTION); may be empty             |
// |       | own +     | an address of its interfaces, to try if ssh's address does not answer (a balancer)        |
// |       | advice    | how to fix socket buffers that are too small; may be empty                               |
// |       | clock     | its wall clock, nanoseconds since 1970                                                   |
// | 2     | fresh     | push: 1: none of the transferred entries exists there                                    |
// |       | missing + | pull: a source that cannot be read, while others can                                     |
// |       | reason +  | why, one after each `missing`                                                            |
// | 3     | heard     | 1: datagrams of this end have arrived. If it never comes, the path there is blocked      |
// |       |           | It does not come after the line "udtx-channel", behind which only datagrams follow        |
// | any   | error     | exit code                                                                                |
// |       | message   | one line                                                                                 |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/locations.hpp"
#include "control/control.hpp"
#include "options/common_options.hpp"
#include "udtx/address.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// The first line of each end.
struct BootstrapGreeting {
    std::uint64_t bootstrap = 0;  ///< version of these blocks
    std::string program;          ///< version of the program, for messages
    std::uint64_t transfer = 0;   ///< version of the transfer protocol

    static constexpr std::uint64_t kVersion = 3;
    static constexpr std::uint64_t kOldest = 3;  ///< that this release speaks
};
[[nodiscard]] std::string to_line(const BootstrapGreeting& greeting);
/// nullopt: the line is not a greeting, such as the output of a login script.
[[nodiscard]] std::optional<BootstrapGreeting> parse_greeting(std::string_view line);

/// Fields in order. A name may occur more than once.
class BootstrapFields {
  public:
    void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
    /// The first field with that name; empty if there is none.
    [[nodiscard]] std::string get(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
    /// nullopt: the field is missing or not a number.
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
    /// The block with its "end". Values are percent-encoded where they would break a line.
    [[nodiscard]] std::string to_text() const;

  private:
    friend class BootstrapFieldReader;
    std::vector<std::pair<std::string, std::string>> fields_;
};

class BootstrapFieldReader {
  public:
    /// Returns the block once its "end" has arrived. protocol: the line does not belong to a block, or the block is too
    /// large.
    Result<std::optional<BootstrapFields>> feed(std::string_view line);

  private:
    BootstrapFields fields_;
    std::size_t bytes_ = 0;
};

// The greeting of each end over ssh, and the text form of the one-time key.

[[nodiscard]] std::string own_greeting();
/// protocol: the other end has an incompatible version, "is version X, this is Y: ...".
Result<void> check_greeting(const BootstrapGreeting& other);

/// Reads the request of the program that started this one over ssh: its greeting, then one block of fields.
class BootstrapRequestReader {
  public:
    /// Takes a line without its end. Returns the request once it is complete; an error is final.
    Result<std::optional<BootstrapFields>> feed(const std::string& line);

  private:
    BootstrapFieldReader fields_;
    bool greeted_ = false;
};

using BootstrapKey = std::array<std::byte, Credentials::kPskBytes>;
[[nodiscard]] std::optional<BootstrapKey> parse_key(const std::string& text);

// The UDP port that the remote end of docs/using/ssh.md opens. The command line that ssh runs there contains it, so
// that the port is open before the request arrives.

struct BootstrapPort {
    PortRange ports;
    AddressChoice addresses = AddressChoice::any;

    friend bool operator==(const BootstrapPort&, const BootstrapPort&) = default;
};

/// The words after "--bootstrap". They need no quotes.
[[nodiscard]] std::vector<std::string> to_arguments(const BootstrapPort& port);
Result<BootstrapPort> parse_bootstrap_port(const std::vector<std::string>& arguments);

/// The address that ssh connected from; empty if it is unknown.
[[nodiscard]] std::string host_of_ssh_client();

/// A transfer as the other side requested it.
struct RequestedTransfer {
    CommonOptions options;
    TransportConfig config;
    DataEnd end;
    /// Starts to wait for a connection. `again`: an earlier one was lost.
    std::function<Result<transfer::Transfer>(transfer::AwaitRequest, bool again)> await{};
    BootstrapFields answer{};  ///< to the request
    TransferCard card;         ///< for clients that list transfers
};
/// Opens a port, waits for the request on standard input, and serves the transfer that `understand` makes of it. If the
/// connection is lost, waits again with the same port and key, because ssh may ask for a new one-time password. Runs
/// until the transfer ends or has no prospect. It ends the process itself if threads may still be blocked in a disk
/// call. `arguments`: the words after --bootstrap.
[[nodiscard]] ExitCode serve_bootstrap(
    const std::vector<std::string>& arguments,
    const std::function<Result<RequestedTransfer>(const BootstrapFields& request)>& understand);

}  // namespace udtx::apps
