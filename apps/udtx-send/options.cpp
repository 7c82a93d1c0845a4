#include "udtx-send/options.hpp"

#include <utility>

namespace udtx::apps {
namespace {

Error usage(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

constexpr const char* kFooter =
    R"(Destination: SRC arrives as DIR/subdir/NAME below the receiver's directory DIR; "SRC/" sends what is in SRC.
With "-" as SRC, standard input arrives as the file that the URL's path names. The default port is 7011.

  udtx-send keygen FILE              make a key that both ends share (mode 0600); a source of that name is ./keygen
  udtx-send keygen --identity FILE   make an Ed25519 key pair: FILE and FILE.pub

Exit codes: 0 done, 1 usage, 10 network, 11 file I/O, 12 protocol, 23 partial, 30 timeout, 40 authentication,
41 integrity, 42 UDP blocked, 130 interrupted. If some SRC do not exist the others are sent, and the code is 23.)";

/// The last positional is the destination.
Result<void> take_destination(SendCommand& command) {
    if (command.sources.empty()) return usage("nothing to send: udtx-send [flags] SRC... udtx://HOST:PORT/[subdir]");
    const std::string last = command.sources.back();
    command.sources.pop_back();
    auto url = parse_url(last);
    if (!url) return url.error();
    command.url = std::move(*url);
    if (command.sources.empty()) return usage("no source given: udtx-send [flags] SRC... " + last);
    for (const std::string& source : command.sources) {
        if (looks_like_url(source)) {
            return usage(std::string("more than one destination: ").append(source).append(" and ").append(last));
        }
        if (source.empty()) return usage("a source is an empty string");
        if (source == "-" && command.sources.size() > 1) return usage("'-' (standard input) must be the only source");
    }
    if (command.streaming() && command.url.path.empty()) {
        return usage("standard input needs a name: udtx-send - udtx://HOST:PORT/NAME");
    }
    return {};
}

}  // namespace

Result<EarlyText> parse_send_command(std::vector<std::string> arguments, SendCommand& command) {
    CLI::App app("Sends files and directories to udtx-recv over UDP, encrypted and verified.", "udtx-send");
    use_house_style(app);
    command.common.add_to(app);
    app.add_option("--pin", command.pin, "With --identity: the receiver's public key, or a file of public keys")
        ->type_name("KEY|FILE")
        ->group("Keys");
    app.add_flag("-p,--preserve", command.common.preserve, "Keep modes and modification times")->group("Copying");
    app.add_option("--policy", command.common.policy_text,
                   "Share beside others: fair (default), high (as two flows), low (what others leave, whatever --cc), "
                   "fixed (--rate, whatever happens)")
        ->type_name("NAME")
        ->group("Transport");
    app.add_option("-m,--min-rate", command.common.min_rate_text, "At least so many bits per second, congestion or not")
        ->type_name("RATE")
        ->group("Transport");
    bool recursive = true;
    app.add_flag("-r,--recursive", recursive, "Implied: directories are always sent whole")->group("Copying");
    app.add_option("--checksum", command.common.checksum, "End-to-end hash of every file: xxh128 (default) or sha256")
        ->type_name("NAME")
        ->group("Copying");
    app.add_option("ARGUMENTS", command.sources, "SRC... udtx://HOST:PORT/[subdir]")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(kFooter);

    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    if (const auto checked = command.common.check(); !checked) return checked.error();
    if (const auto taken = take_destination(command); !taken) return taken.error();
    if (command.pin.empty() != command.common.identity_text.empty()) {
        return usage("--identity and --pin go together: own key, and the receiver's public key");
    }
    return EarlyText();
}

Result<EarlyText> parse_keygen_command(std::vector<std::string> arguments, KeygenCommand& command) {
    CLI::App app("Makes a key that both ends share, mode 0600; never overwrites.", "udtx-send keygen");
    use_house_style(app);
    std::vector<std::string> files;
    app.add_flag("--identity", command.identity, "Make an Ed25519 key pair instead: FILE and FILE.pub");
    app.add_option("FILE", files, "Where to write the key")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    if (files.size() != 1) return usage("keygen takes one file: udtx-send keygen [--identity] FILE");
    command.file = files[0];
    return EarlyText();
}

}  // namespace udtx::apps
