#include "ssh/remote_end.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "common/exit_codes.hpp"
#include "common/text.hpp"
#include "ssh/bootstrap.hpp"
#include "ssh/ssh_child.hpp"
#include "udtx/resolve.hpp"
#include "udtx/system_rng.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

/// Characters that need no quotes in a shell.
constexpr auto kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";

/// The words of the command up to the host.
std::vector<std::string> beginning(const SshOptions& options) {
    std::vector<std::string> words = options.command;
    if (!options.port_text.empty()) words.insert(words.end(), {"-p", options.port_text});
    if (!options.identity.empty()) words.insert(words.end(), {"-i", options.identity});
    return words;
}

}  // namespace

std::vector<std::string> remote_command(const SshOptions& options, const SshTarget& target, AddressChoice addresses,
                                        const std::string& program) {
    std::string rest = " --bootstrap";
    for (const std::string& word : to_arguments({options.udp_ports, addresses})) rest += ' ' + word;
    return ssh_command(options, target, addresses, remote_line(options, program, rest));
}

std::string remote_name(const SshOptions& options, const std::string& program) {
    if (options.remote_bin.empty()) return program;
    // A settings file has one value for pushes and for pulls.
    const std::string other = program == "udtx-send" ? "udtx-recv" : "udtx-send";
    std::string name;
    for (std::size_t at = 0; at < options.remote_bin.size();) {
        const std::size_t end = std::min(options.remote_bin.find(' ', at), options.remote_bin.size());
        std::string word = options.remote_bin.substr(at, end - at);
        if (word == other || word.ends_with('/' + other))
            word.replace(word.size() - other.size(), other.size(), program);
        name += word;
        if (end < options.remote_bin.size()) name += ' ';
        at = end + 1;
    }
    return name;
}

std::string remote_line(const SshOptions& options, const std::string& program, const std::string& rest) {
    const std::string name = remote_name(options, program);
    // Other values, such as "sudo udtx-recv", are for the remote shell.
    if (name.find_first_not_of(std::string(kPlain) + '~') != std::string::npos) return name + rest;
    // A shell without a login often has no ~/.local/bin in its PATH. `sh`, because the user's shell may be another
    // kind.
    std::string script = "PATH=\"$PATH:$HOME/.local/bin:/usr/local/bin\"; ";
    if (name == program) return "sh -c " + quoted_for_shell(script + "exec " + program + rest);
    script += "p=" + name + "; if [ -d \"$p\" ]; then p=\"$p/" + program + "\"; ";
    script += "elif ! command -v \"$p\" >/dev/null && command -v \"$p" + program.substr(4) + "\" >/dev/null; ";
    script += "then p=\"$p" + program.substr(4) + "\"; fi; exec \"$p\"";
    return "sh -c " + quoted_for_shell(script + rest);
}

std::string not_found(const SshOptions& options, const SshTarget& target, const std::string& program) {
    const std::string where =
        options.remote_bin.empty() ? ", neither in PATH nor in ~/.local/bin or /usr/local/bin" : "";
    return remote_name(options, program) + ": not found on " + target.host + where +
           "; install it or name it with --remote-bin";
}

std::vector<std::string> ssh_command(const SshOptions& options, const SshTarget& target, AddressChoice addresses,
                                     std::string line) {
    std::vector<std::string> words = beginning(options);
    if (addresses == AddressChoice::v4_only) words.emplace_back("-4");
    if (addresses == AddressChoice::v6_only) words.emplace_back("-6");
    if (options.is_openssh()) {
        // As scp does: turns off settings that the user's configuration has for logins only.
        words.insert(words.end(), {"-x", "-T", "-oClearAllForwardings=yes", "-oPermitLocalCommand=no",
                                   "-oRemoteCommand=none", "-oForwardAgent=no"});
        if (options.patience) {
            const auto whole = std::chrono::ceil<std::chrono::seconds>(*options.patience);
            words.push_back("-oConnectTimeout=" + std::to_string(std::max<std::int64_t>(whole.count(), 1)));
        }
        words.emplace_back("--");
    }
    words.push_back(target.login());
    words.push_back(std::move(line));
    return words;
}

std::string login_command(const SshOptions& options, const SshTarget& target) {
    std::vector<std::string> words = beginning(options);
    words.push_back(target.login());
    std::string line;
    for (const std::string& word : words) {
        const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
        line += (line.empty() ? "" : " ") + (plain ? word : quoted_for_shell(word));
    }
    return line;
}

std::vector<std::string> query_command(const SshOptions& options, const SshTarget& target) {
    std::vector<std::string> words = beginning(options);
    words.insert(words.end(), {"-G", "--", target.login()});
    return words;
}

namespace {

using std::chrono::milliseconds;

/// Time limit for a command that ends soon by itself.
constexpr milliseconds kSoon{2000};
constexpr const char* kSaysTooMuch = "sends too much over ssh: do login scripts there print without an end?";
constexpr std::array kRefusals{"Permission denied (", "Host key verification failed",
                               "Too many authentication failures", "REMOTE HOST IDENTIFICATION HAS CHANGED"};

struct HostView {
    std::string name;
    bool proxied = false;
};

/// The host's name after ssh's configuration. Without OpenSSH, or without an answer: the name itself.
HostView view_of(const RemoteStart& start) {
    HostView view{start.target.host, false};
    if (!start.options.is_openssh()) return view;
    auto child = SshChild::start(query_command(start.options, start.target), {[](std::string_view) {}, [] {}});
    if (!child) return view;
    if ((*child)->finish(kSoon) != 0) return view;
    while (const auto line = (*child)->next_line()) {
        const std::size_t space = line->find(' ');
        const std::string key = line->substr(0, space);
        const std::string value = space == std::string::npos ? std::string() : line->substr(space + 1);
        if (key == "hostname") view.name = value;
        if ((key == "proxyjump" || key == "proxycommand") && value != "none") view.proxied = true;
    }
    return view;
}

Error broken(const RemoteStart& start, const std::string& what) {
    return {ErrorCode::protocol, start.program + " on " + start.target.host + " " + what};
}

std::optional<Address> parse_address(const std::string& text, AddressChoice choice) {
    const bool numeric = !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
    const auto found = numeric ? resolve(text, 0, choice) : Result<std::vector<Address>>(std::vector<Address>());
    return found && !found->empty() ? std::optional(found->front()) : std::nullopt;
}

}  // namespace

/// Holds ssh and the state of its messages.
class RemoteEnd::Dialogue {
  public:
    Dialogue(RemoteStart start, Log& log, Terminal& terminal, SignalWaiter& signals)
        : start_(std::move(start)),
          program_(remote_name(start_.options, start_.program)),
          log_(log),
          terminal_(terminal),
          signals_(signals) {}

    Result<void> open(const std::string& text) {
        auto child =
            SshChild::start(remote_command(start_.options, start_.target, start_.addresses, start_.program),
                            {[this](std::string_view line) { complained(line); }, [this] { signals_.wake(); }});
        if (!child) return child.error();
        child_ = std::move(*child);
        // If ssh has already ended, its own exit is the error that counts.
        static_cast<void>(child_->write(text));
        return {};
    }

    /// Waits for the first block: the port.
    Result<BootstrapFields> await_port() {
        for (;;) {
            auto block = next_block();
            if (!block) return block.error();
            if (block->has_value()) {
                port_told_ = child_->line_came();
                return std::move(**block);
            }
            if (const auto signal = signals_.wait(SignalWaiter::kTurn)) {
                return Error{ErrorCode::interrupted, std::string("interrupted by ") + signal_name(*signal) +
                                                         " before " + start_.target.host + " was ready"};
            }
        }
    }

    /// Time at which the first block was complete here.
    [[nodiscard]] std::chrono::system_clock::time_point port_told() const { return port_told_; }

    /// The second block: the answer to the request.
    [[nodiscard]] const Result<std::optional<BootstrapFields>>& answer() {
        while (answer_ && !answer_->has_value()) {
            auto block = next_block();
            if (block && !block->has_value()) break;
            answer_ = std::move(block);
        }
        return answer_;
    }

    /// True once the third block reports received datagrams.
    [[nodiscard]] bool heard() {
        if (const auto& answered = answer(); !answered || !answered->has_value()) return false;
        while (const auto line = child_->next_line()) {
            const auto block = reader_.feed(*line);
            heard_ = heard_ || (block && block->has_value() && !(*block)->get("heard").empty());
        }
        return heard_;
    }

    [[nodiscard]] bool gone() { return child_->gone(); }
    [[nodiscard]] Error ended_early() const {
        return {ErrorCode::network, "'" + program_ + "' on " + start_.target.host + " ended before the transfer began"};
    }

  private:
    /// Returns a block if it has arrived. An error: the other side reports why it refuses, or has ended.
    Result<std::optional<BootstrapFields>> next_block() {
        while (const auto line = child_->next_line()) {
            auto block = take(*line);
            if (!block) return block;
            if (block->has_value()) return judge(std::move(**block));
        }
        if (child_->said_too_much()) return broken(start_, kSaysTooMuch);
        if (child_->ended()) return explain(child_->finish(kSoon));
        return std::optional<BootstrapFields>();
    }

    Result<std::optional<BootstrapFields>> take(const std::string& line) {
        if (greeted_) return reader_.feed(line);
        const auto greeting = parse_greeting(line);
        if (!greeting) {
            log_.detail(start_.target.host + " says: " + line);  // printed by a login script
            return std::optional<BootstrapFields>();
        }
        greeted_ = true;
        if (const auto same = check_greeting(*greeting); !same) return broken(start_, same.error().message);
        return std::optional<BootstrapFields>();
    }

    Result<std::optional<BootstrapFields>> judge(BootstrapFields block) {
        const auto code = block.number("error");
        if (!code) return std::optional(std::move(block));
        return Error{error_code_for(static_cast<ExitCode>(*code)), start_.target.host + ": " + block.get("message")};
    }

    void complained(std::string_view line) {
        const std::lock_guard lock(mutex_);
        refused_ = refused_ || std::any_of(kRefusals.begin(), kRefusals.end(), [&](const char* words) {
                       return line.find(words) != std::string_view::npos;
                   });
        // Drops the shell's message about a missing program, because explain() describes it better.
        const std::string leaf = program_.substr(program_.rfind('/') + 1);
        const bool missing =
            line.find("not found") != std::string_view::npos || line.find("No such file") != std::string_view::npos;
        if (!missing || line.find(leaf) == std::string_view::npos) terminal_.line(escape_message(line));
    }

    Error explain(int status) {
        const std::lock_guard lock(mutex_);
        const std::string& host = start_.target.host;
        if (status == kCommandNotFound && !greeted_) {
            return {ErrorCode::protocol, not_found(start_.options, start_.target, start_.program)};
        }
        if (status == kCommandNotRunnable && !greeted_) {
            return {ErrorCode::protocol, program_ + ": cannot be run on " + host + "; name another with --remote-bin"};
        }
        if (status != kSshFailed || greeted_) {
            return {ErrorCode::protocol, "'" + program_ + " --bootstrap' on " + host + " ended with code " +
                                             std::to_string(status) +
                                             "; is the same version of udtx there? --remote-bin names another"};
        }
        return {refused_ ? ErrorCode::authentication : ErrorCode::network,
                (refused_ ? "ssh was refused by " : "ssh could not connect to ") + host +
                    "; try: " + login_command(start_.options, start_.target)};
    }

    RemoteStart start_;
    std::string program_;
    Log& log_;
    Terminal& terminal_;
    SignalWaiter& signals_;
    BootstrapFieldReader reader_;
    bool greeted_ = false;
    std::chrono::system_clock::time_point port_told_;
    Result<std::optional<BootstrapFields>> answer_{std::nullopt};
    bool heard_ = false;

    std::mutex mutex_;
    bool refused_ = false;             // ssh's messages show a refusal
    std::unique_ptr<SshChild> child_;  // destroyed first, because its thread calls complained()
};

Result<std::unique_ptr<RemoteEnd>> RemoteEnd::start(RemoteStart start, Log& log, Terminal& terminal,
                                                    SignalWaiter& signals) {
    std::array<std::byte, Credentials::kPskBytes> key{};
    SystemRng().fill(key);
    start.request.add("key", key_to_text(key));
    const std::string text = own_greeting() + start.request.to_text();
    const RemoteStart copy = start;
    auto dialogue = std::make_unique<Dialogue>(std::move(start), log, terminal, signals);
    if (const auto opened = dialogue->open(text); !opened) return opened.error();
    // Meanwhile ssh connects.
    const HostView host = view_of(copy);
    const auto resolved = resolve(host.name, 0, copy.addresses);
    transfer::prepare();
    auto reply = dialogue->await_port();
    if (!reply) return reply.error();

    const auto port = reply->number("port");
    if (!port || *port == 0 || *port > 65535) return broken(copy, "names no port");
    auto addresses = addresses_to_dial(resolved ? *resolved : std::vector<Address>(),
                                       parse_address(reply->get("address"), copy.addresses), host.proxied);
    if (addresses.empty()) return resolved ? broken(copy, "names no address to connect to") : resolved.error();
    std::vector<Address> told;
    for (const std::string& one : reply->all("own")) {
        if (const auto address = parse_address(one, copy.addresses)) told.push_back(*address);
    }
    const auto here = list_interfaces();
    auto own = own_addresses_to_dial(told, addresses, here ? *here : std::vector<Interface>());
    for (auto* list : {&addresses, &own}) {
        for (Address& address : *list) address.port = static_cast<std::uint16_t>(*port);
    }
    return std::unique_ptr<RemoteEnd>(new RemoteEnd(std::move(dialogue), Credentials::from_psk(key), std::move(*reply),
                                                    std::move(addresses), std::move(own)));
}

RemoteEnd::RemoteEnd(std::unique_ptr<Dialogue> dialogue, Credentials credentials, BootstrapFields reply,
                     std::vector<Address> addresses, std::vector<Address> own_addresses)
    : dialogue_(std::move(dialogue)),
      credentials_(std::move(credentials)),
      reply_(std::move(reply)),
      addresses_(std::move(addresses)),
      own_addresses_(std::move(own_addresses)) {}

RemoteEnd::~RemoteEnd() = default;

std::chrono::system_clock::time_point RemoteEnd::replied_at() const { return dialogue_->port_told(); }

Result<std::optional<BootstrapFields>> RemoteEnd::answer() { return dialogue_->answer(); }

Result<std::optional<BootstrapFields>> RemoteEnd::await_answer() {
    const auto deadline = std::chrono::steady_clock::now() + kSoon;
    for (;;) {
        auto answered = answer();
        if (!answered || answered->has_value() || std::chrono::steady_clock::now() >= deadline) return answered;
        std::this_thread::sleep_for(SshChild::kPoll);
    }
}

bool RemoteEnd::heard() { return dialogue_->heard(); }

bool RemoteEnd::gone() { return dialogue_->gone(); }

Error RemoteEnd::ended_early() const { return dialogue_->ended_early(); }

std::vector<Address> addresses_to_dial(const std::vector<Address>& resolved, const std::optional<Address>& reached,
                                       bool proxied) {
    std::vector<Address> out;
    if (!reached) return resolved;
    // If a resolved address is the one that ssh reached, only that one counts. It is taken from `resolved`, because
    // only this side knows its zone.
    for (const Address& address : resolved) {
        if (address.family == reached->family && address.ip == reached->ip) return {address};
    }
    // Otherwise the host is behind an address translator, and its own address differs from the one that this side sees.
    out = resolved;
    if (proxied || resolved.empty()) out.push_back(*reached);
    return out;
}

std::vector<Address> own_addresses_to_dial(const std::vector<Address>& told, const std::vector<Address>& addresses,
                                           const std::vector<Interface>& here) {
    std::vector<Address> out;
    const auto has = [](const std::vector<Address>& list, const Address& one) {
        return std::ranges::any_of(list, [&](const Address& a) { return a.family == one.family && a.ip == one.ip; });
    };
    const auto ours = [&](const Address& address) {
        return std::ranges::any_of(here, [&](const Interface& i) { return has(i.addresses, address); });
    };
    for (const Address& address : told) {
        if (out.size() == kMostOwnAddresses) break;
        if (!has(addresses, address) && !has(out, address) && !ours(address)) out.push_back(address);
    }
    return out;
}

}  // namespace udtx::apps
