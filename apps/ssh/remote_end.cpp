#include "ssh/remote_end.hpp"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "common/exit_codes.hpp"
#include "common/text.hpp"
#include "udtx/system.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

/// Characters that need no quotes in a shell.
constexpr auto kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";

/// The words of the command up to the host.
std::vector<std::string> beginning(const SshOptions& options) {
    std::vector<std::string> words = options.command;
    if (!options.port.empty()) words.insert(words.end(), {"-p", options.port});
    if (!options.identity.empty()) words.insert(words.end(), {"-i", options.identity});
    return words;
}

}  // namespace

std::vector<std::string> remote_command(const SshOptions& options, const SshTarget& target, AddressChoice addresses,
                                        const std::string& program, bool may_ask) {
    std::string rest = " --bootstrap";
    for (const std::string& word : to_arguments({options.udp_ports, addresses})) rest += ' ' + word;
    return ssh_command(options, target, addresses, remote_line(options, program, rest), may_ask);
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
                                     std::string line, bool may_ask) {
    std::vector<std::string> words = beginning(options);
    if (addresses == AddressChoice::v4_only) words.emplace_back("-4");
    if (addresses == AddressChoice::v6_only) words.emplace_back("-6");
    if (options.is_openssh()) {
        // As scp does: turns off settings that the user's configuration has for logins only.
        words.insert(words.end(), {"-x", "-T", "-oClearAllForwardings=yes", "-oPermitLocalCommand=no",
                                   "-oRemoteCommand=none", "-oForwardAgent=no"});
        if (!may_ask) words.emplace_back("-oBatchMode=yes");
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
/// ssh complains before its end is known, or soon after.
constexpr Duration kComplaintWithin = std::chrono::milliseconds(200);
constexpr std::array kLosses{"closed by remote host", "Broken pipe", "not responding", "reset by peer", "timed out"};
constexpr std::array kRefusals{"Permission denied (", "Host key verification failed",
                               "Too many authentication failures", "REMOTE HOST IDENTIFICATION HAS CHANGED"};

struct HostView {
    std::string name;
    bool proxied = false;
};

/// The host's name after ssh's configuration. Without OpenSSH, or without an answer: the name itself.
HostView view_of(const SshOptions& options, const SshTarget& target) {
    HostView view{target.host, false};
    if (!options.is_openssh()) return view;
    auto child = SshChild::start(query_command(options, target), {[](std::string_view) {}, [] {}});
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

std::optional<Address> parse_address(const std::string& text, AddressChoice choice) {
    const bool numeric = !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
    const auto found = numeric ? resolve(text, 0, choice) : Result<std::vector<Address>>(std::vector<Address>());
    return found && !found->empty() ? std::optional(found->front()) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<RemoteEnd>> RemoteEnd::start(RemoteStart start, Log& log, Terminal& terminal,
                                                    SignalWaiter& signals) {
    BootstrapKey key{};
    SystemRng().fill(key);
    start.request.add("key", to_hex(key));
    std::unique_ptr<RemoteEnd> remote(new RemoteEnd(start, Credentials::from_psk(key), log, terminal, signals));
    RemoteEnd& self = *remote;
    auto child =
        SshChild::start(remote_command(self.options_, self.target_, self.choice_, self.program_, start.may_ask),
                        {[&self](std::string_view line) { self.complained(line); }, [&signals] { signals.wake(); }});
    if (!child) return child.error();
    self.child_ = std::move(*child);
    // If ssh has already ended, its own exit is the error that counts.
    static_cast<void>(self.child_->write(own_greeting() + start.request.to_text()));
    if (const auto taken = self.take_port(); !taken) return taken.error();
    return remote;
}

RemoteEnd::RemoteEnd(const RemoteStart& start, Credentials credentials, Log& log, Terminal& terminal,
                     SignalWaiter& signals)
    : target_(start.target),
      options_(start.options),
      choice_(start.addresses),
      program_(start.program),
      name_(remote_name(options_, program_)),
      log_(log),
      terminal_(terminal),
      signals_(signals),
      credentials_(std::move(credentials)) {}

Result<void> RemoteEnd::take_port() {
    // Meanwhile ssh connects.
    const HostView host = view_of(options_, target_);
    proxied_ = host.proxied;
    const auto resolved = resolve(host.name, 0, choice_);
    transfer::prepare();
    auto reply = await_port();
    if (!reply) return reply.error();
    stage_.enter(Stage::has_port);
    reply_ = std::move(*reply);
    replied_at_ = child_->line_came();

    const auto port = reply_.number("port");
    if (!port || *port == 0 || *port > 65535) return broken("names no port");
    addresses_ = addresses_to_try(resolved ? *resolved : std::vector<Address>(),
                                  parse_address(reply_.get("address"), choice_), host.proxied);
    if (addresses_.empty()) return resolved ? broken("names no address to connect to") : resolved.error();
    std::vector<Address> told;
    for (const std::string& one : reply_.all("own")) {
        if (const auto address = parse_address(one, choice_)) told.push_back(*address);
    }
    const auto here = list_interfaces();
    own_addresses_ = own_addresses_to_try(told, addresses_, here ? *here : std::vector<Interface>());
    for (auto* list : {&addresses_, &own_addresses_}) {
        for (Address& address : *list) address.port = static_cast<std::uint16_t>(*port);
    }
    return {};
}

Result<BootstrapFields> RemoteEnd::await_port() {
    for (;;) {
        auto block = next_block();
        if (!block) return block.error();
        if (block->has_value()) return std::move(**block);
        if (const auto signal = signals_.wait(SignalWaiter::kTurn)) {
            return Error{ErrorCode::interrupted, std::string("interrupted by ") + signal_name(*signal) + " before " +
                                                     target_.host + " was ready"};
        }
    }
}

Result<std::optional<BootstrapFields>> RemoteEnd::answer() {
    if (stage_ != Stage::has_port) return answer_;
    answer_ = next_block();
    if (!answer_ || answer_->has_value()) stage_.enter(answer_ ? Stage::answered : Stage::refused);
    return answer_;
}

Result<std::optional<BootstrapFields>> RemoteEnd::await_answer() {
    const auto deadline = std::chrono::steady_clock::now() + kSoon;
    for (;;) {
        auto answered = answer();
        if (!answered || answered->has_value() || std::chrono::steady_clock::now() >= deadline) return answered;
        std::this_thread::sleep_for(SshChild::kPoll);
    }
}

std::shared_ptr<Channel> RemoteEnd::channel() {
    if (!channel_) {
        if (auto ends = child_->take_channel()) {
            channel_ = Channel::make(std::move(ends->from), std::move(ends->to), ends->received);
        }
    }
    return channel_ && !channel_->ended() ? channel_ : nullptr;
}

bool RemoteEnd::ended() {
    if (!child_->gone()) return false;
    if (!gone_since_) gone_since_ = monotonic_now();
    const Duration since = monotonic_now() - *gone_since_;
    const auto status = child_->status();
    const bool may_linger = stage_ == Stage::answered || stage_ == Stage::heard;
    if (!may_linger || refuses_ || (status && *status != kSshFailed)) return true;
    // ssh has the same status if a signal ended the program, and then does not complain of its connection.
    return since >= (ssh_lost_ ? options_.linger : kComplaintWithin);
}

bool RemoteEnd::heard() {
    static_cast<void>(answer());
    while (stage_ == Stage::answered) {
        const auto line = child_->next_line();
        if (!line) return false;
        const auto block = reader_.feed(*line);
        if (block && block->has_value() && !(*block)->get("heard").empty()) stage_.enter(Stage::heard);
    }
    return stage_ == Stage::heard;
}

Error RemoteEnd::ended_early() const {
    return {ErrorCode::network, "'" + name_ + "' on " + target_.host + " ended before the transfer began"};
}

Error RemoteEnd::broken(const std::string& what) const {
    return {ErrorCode::protocol, program_ + " on " + target_.host + " " + what};
}

Result<std::optional<BootstrapFields>> RemoteEnd::next_block() {
    while (const auto line = child_->next_line()) {
        auto block = take(*line);
        if (!block) return block;
        if (!block->has_value()) continue;
        const auto code = (*block)->number("error");
        if (!code) return block;
        return Error{error_code_for(static_cast<ExitCode>(*code)), target_.host + ": " + (*block)->get("message")};
    }
    if (child_->said_too_much()) return broken(kSaysTooMuch);
    if (child_->ended()) return explain(child_->finish(kSoon));
    return std::optional<BootstrapFields>();
}

Result<std::optional<BootstrapFields>> RemoteEnd::take(const std::string& line) {
    if (stage_ != Stage::silent) return reader_.feed(line);
    const auto greeting = parse_greeting(line);
    if (!greeting) {
        log_.detail(target_.host + " says: " + line);  // printed by a login script
        return std::optional<BootstrapFields>();
    }
    stage_.enter(Stage::greeted);
    if (const auto same = check_greeting(*greeting); !same) return broken(same.error().message);
    return std::optional<BootstrapFields>();
}

void RemoteEnd::complained(std::string_view line) {
    const auto has = [&](const char* words) { return line.find(words) != std::string_view::npos; };
    if (std::ranges::any_of(kRefusals, has)) refused_ = true;
    if (std::ranges::any_of(kLosses, has)) ssh_lost_ = true;
    // Drops the shell's message about a missing program, because explain() describes it better.
    const std::string leaf = name_.substr(name_.rfind('/') + 1);
    const bool missing = has("not found") || has("No such file");
    if (!missing || !has(leaf.c_str())) terminal_.line(escape_message(line));
}

Error RemoteEnd::explain(int status) {
    const std::string& host = target_.host;
    const bool greeted = stage_ != Stage::silent;
    if (status == kCommandNotFound && !greeted) {
        return {ErrorCode::protocol, not_found(options_, target_, program_)};
    }
    if (status == kCommandNotRunnable && !greeted) {
        return {ErrorCode::protocol, name_ + ": cannot be run on " + host + "; name another with --remote-bin"};
    }
    if (status != kSshFailed || greeted) {
        return {ErrorCode::protocol, "'" + name_ + " --bootstrap' on " + host + " ended with code " +
                                         std::to_string(status) +
                                         "; is the same version of udtx there? --remote-bin names another"};
    }
    return {refused_ ? ErrorCode::authentication : ErrorCode::network,
            (refused_ ? "ssh was refused by " : "ssh could not connect to ") + host +
                "; try: " + login_command(options_, target_)};
}

std::vector<Address> addresses_to_try(const std::vector<Address>& resolved, const std::optional<Address>& reached,
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

std::vector<Address> own_addresses_to_try(const std::vector<Address>& told, const std::vector<Address>& addresses,
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
