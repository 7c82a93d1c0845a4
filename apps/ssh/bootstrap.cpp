#include "ssh/bootstrap.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/final_report.hpp"
#include "observe/observer.hpp"
#include "ssh/ssh_child.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/system.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kGreeting = "udtx-bootstrap ";
constexpr std::string_view kEnd = "end";
// Limits a peer that never ends its block. Thousands of sources fit.
constexpr std::size_t kMaxBytes = 16U << 20U;

std::string percent_encode(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte > ' ' && byte < 0x7F && byte != '%') {
            out += c;
        } else {
            out += '%';
            out += kDigits[byte >> 4U];
            out += kDigits[byte & 15U];
        }
    }
    return out;
}

/// Removes the first word from `text` and returns it.
std::string_view take_word(std::string_view& text) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    return word;
}

}  // namespace

std::string to_line(const BootstrapGreeting& greeting) {
    return std::string(kGreeting) + std::to_string(greeting.bootstrap) + ' ' + greeting.program + ' ' +
           std::to_string(greeting.transfer) + '\n';
}

std::optional<BootstrapGreeting> parse_greeting(std::string_view line) {
    if (!line.starts_with(kGreeting)) return std::nullopt;
    line.remove_prefix(kGreeting.size());
    BootstrapGreeting greeting;
    const auto bootstrap = parse_number<std::uint64_t>(take_word(line));
    greeting.program = take_word(line);
    const auto transfer = parse_number<std::uint64_t>(take_word(line));
    if (!bootstrap || greeting.program.empty()) return std::nullopt;
    greeting.bootstrap = *bootstrap;
    greeting.transfer = transfer.value_or(0);
    return greeting;
}

std::string BootstrapFields::get(std::string_view name) const {
    const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const auto& f) { return f.first == name; });
    return found == fields_.end() ? std::string() : found->second;
}

std::vector<std::string> BootstrapFields::all(std::string_view name) const {
    std::vector<std::string> out;
    for (const auto& [key, value] : fields_) {
        if (key == name) out.push_back(value);
    }
    return out;
}

std::optional<std::uint64_t> BootstrapFields::number(std::string_view name) const {
    return parse_number<std::uint64_t>(get(name));
}

std::string BootstrapFields::to_text() const {
    std::string out;
    for (const auto& [name, value] : fields_) out += name + ' ' + percent_encode(value) + '\n';
#ifdef UDTX_FUTURE
    out += "future 1\n";  // see tests/compat
#endif
    return out.append(kEnd) + '\n';
}

Result<std::optional<BootstrapFields>> BootstrapFieldReader::feed(std::string_view line) {
    if (line == kEnd) return std::optional(std::exchange(fields_, {}));
    bytes_ += line.size() + sizeof(std::pair<std::string, std::string>);
    const std::string_view name = take_word(line);
    if (name.empty() || bytes_ > kMaxBytes) {
        return Error{ErrorCode::protocol, "the other end sent something unexpected over ssh"};
    }
    if (name.starts_with('!')) {
        return Error{ErrorCode::protocol, "the other end asks for '" + std::string(name.substr(1)) + "', which udtx " +
                                              program_version() +
                                              " does not know: install the version of the other end here"};
    }
    fields_.add(std::string(name), percent_decode(line));
    return std::optional<BootstrapFields>();
}

std::string own_greeting() {
    return to_line({BootstrapGreeting::kVersion, program_version(), transfer::kTransferVersion});
}

Result<void> check_greeting(const BootstrapGreeting& other) {
    if (other.bootstrap >= BootstrapGreeting::kOldest && other.transfer >= transfer::kOldestTransferVersion) return {};
    return Error{ErrorCode::protocol,
                 "is udtx " + other.program + ", and this is udtx " + program_version() + ": update the older one"};
}

std::optional<BootstrapKey> parse_key(const std::string& text) {
    BootstrapKey key{};
    if (text.size() != 2 * key.size()) return std::nullopt;
    for (std::size_t i = 0; i < key.size(); ++i) {
        const auto value = hex_byte(std::string_view(text).substr(2 * i));
        if (!value) return std::nullopt;
        key[i] = static_cast<std::byte>(*value);
    }
    return key;
}

std::vector<std::string> to_arguments(const BootstrapPort& port) {
    std::vector<std::string> words;
    if (port.addresses == AddressChoice::v4_only) words.emplace_back("-4");
    if (port.addresses == AddressChoice::v6_only) words.emplace_back("-6");
    if (port.ports.first != 0) words.insert(words.end(), {"-O", to_string(port.ports)});
    return words;
}

Result<BootstrapPort> parse_bootstrap_port(const std::vector<std::string>& arguments) {
    BootstrapPort port;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (word == "-4") {
            port.addresses = AddressChoice::v4_only;
        } else if (word == "-6") {
            port.addresses = AddressChoice::v6_only;
        } else if (word == "-O" && i + 1 < arguments.size()) {
            const auto ports = parse_port_range(arguments[++i]);
            if (!ports) return ports.error();
            port.ports = *ports;
        } else {
            return Error{ErrorCode::protocol, "'" + word + "' is unknown after --bootstrap"};
        }
    }
    return port;
}

namespace {

/// The process that started this one has its request ready.
constexpr Duration kRequestWithin = std::chrono::seconds(30);
/// Largest unread input in bytes. Requests, and each of their lines, are smaller.
constexpr std::size_t kMaxUnread = 16U << 20U;

Error broken(const std::string& what) { return {ErrorCode::protocol, "the request over ssh " + what}; }

/// Opens the first free port, on all addresses of the host. network: no port is free.
Result<BoundSocket> open_port(const BootstrapPort& wanted) {
    Result<BoundSocket> opened = Error{ErrorCode::network, "no port"};
    for (unsigned port = wanted.ports.first; port <= wanted.ports.last; ++port) {
        const auto wildcards = resolve("", static_cast<std::uint16_t>(port), wanted.addresses);
        if (!wildcards) return wildcards.error();
        for (const Address& address : *wildcards) {
            opened = bind_udp(address);
            if (opened) return opened;
        }
    }
    if (wanted.ports.first == wanted.ports.last) return opened;
    return Error{ErrorCode::network, "no UDP port of " + to_string(wanted.ports) + " is free"};
}

/// The address of this host that ssh connected to; empty if it is unknown.
std::string address_of_ssh() {
    const char* text = std::getenv("SSH_CONNECTION");  // NOLINT(concurrency-mt-unsafe)
    if (text == nullptr) return {};
    // "client port server port"
    std::string rest = text;
    for (int i = 0; i < 2; ++i) {
        const std::size_t space = rest.find(' ');
        if (space == std::string::npos) return {};
        rest.erase(0, space + 1);
    }
    return rest.substr(0, rest.find_first_of(" %"));
}

/// For `doctor` on the other side.
std::int64_t wall_clock_ns() {
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<std::optional<BootstrapFields>> BootstrapRequestReader::feed(const std::string& line) {
    if (greeted_) return fields_.feed(line);
    const auto greeting = parse_greeting(line);
    if (!greeting) return broken("does not start with a greeting; '--bootstrap' is only for udtx over ssh");
    if (const auto same = check_greeting(*greeting); !same) {
        return Error{same.error().code, "the other end " + same.error().message};
    }
    greeted_ = true;
    return std::optional<BootstrapFields>();
}

namespace {

/// Standard input and output of a program that ssh started.
class BootstrapChannel {
  public:
    explicit BootstrapChannel(SignalWaiter& signals) : signals_(signals) {}

    /// Sends the greeting and the port. The other side connects while its request is still on the way; its datagrams
    /// wait in the socket. `arguments`: the words after --bootstrap.
    Result<BoundSocket> open(const std::vector<std::string>& arguments) {
        static_cast<void>(write_all(out_, own_greeting()));
        const auto wanted = parse_bootstrap_port(arguments);
        if (!wanted) return wanted.error();
        auto socket = open_port(*wanted);
        if (!socket) return socket;
        BootstrapFields fields;
        fields.add("port", std::to_string(socket->local.port));
        fields.add("address", address_of_ssh());
        for (const Address& address : own_addresses()) {
            const std::string text = host_text(address);
            fields.add("own", text.front() == '[' ? text.substr(1, text.size() - 2) : text);
        }
        fields.add("advice", socket->buffer_advice);
        fields.add("clock", std::to_string(wall_clock_ns()));
        answer(fields);
        return socket;
    }

    /// Waits for the request.
    Result<BootstrapFields> await() {
        const Instant deadline = monotonic_now() + kRequestWithin;
        BootstrapRequestReader reader;
        while (monotonic_now() < deadline) {
            while (const auto line = next_line()) {
                auto request = reader.feed(*line);
                if (!request) return request.error();
                if (request->has_value()) return std::move(**request);
            }
            if (closed_) return broken("ended too early");
            if (buffer_.size() > kMaxUnread) return broken("has a line without an end");
            if (signals_.wait(std::chrono::milliseconds(0))) return Error{ErrorCode::interrupted, "interrupted"};
            pollfd entry{in_, POLLIN, 0};
            if (::poll(&entry, 1, 100) > 0 && !read_some(in_, buffer_)) closed_ = true;
        }
        return Error{ErrorCode::timeout, "no request arrived over ssh; '--bootstrap' is only for udtx over ssh"};
    }

    /// From now on, both directions carry datagrams. Null: the process has no descriptor left.
    [[nodiscard]] std::shared_ptr<Channel> carry_datagrams() {
        if (datagrams_) return datagrams_;
        UniqueFd in(::fcntl(in_, F_DUPFD_CLOEXEC, 0));
        UniqueFd out(::fcntl(out_, F_DUPFD_CLOEXEC, 0));
        if (!in || !out || write_all(out_, std::string(SshChild::kChannelLine) + '\n') != 0) return nullptr;
        datagrams_ = Channel::make(std::move(in), std::move(out), buffer_);
        buffer_.clear();
        return datagrams_;
    }

    void answer(const BootstrapFields& fields) const {
        if (datagrams_) return;  // nobody reads lines any more
        // If the other side has gone, closed() reports it.
        static_cast<void>(write_all(out_, fields.to_text()));
    }

    /// Reports the error to the other side. Returns the exit code.
    [[nodiscard]] ExitCode refuse(const Error& error) const {
        const ExitCode code = exit_code_for(error.code);
        BootstrapFields fields;
        fields.add("error", std::to_string(static_cast<int>(code)));
        fields.add("message", error.message);
        answer(fields);
        return code;
    }

    /// True if ssh has closed standard input: the other side or its ssh connection has ended.
    [[nodiscard]] bool closed() {
        pollfd entry{in_, POLLIN, 0};
        if (datagrams_) {
            entry.events = 0;  // only whether the other side has gone: a transfer reads the rest
            closed_ = closed_ || datagrams_->ended() || (::poll(&entry, 1, 0) > 0 && (entry.revents & POLLHUP) != 0);
            return closed_;
        }
        while (!closed_ && ::poll(&entry, 1, 0) > 0) {
            if (!read_some(in_, buffer_)) closed_ = true;
            buffer_.clear();  // no data follows the request
        }
        return closed_;
    }

  private:
    [[nodiscard]] std::optional<std::string> next_line() {
        const std::size_t end = buffer_.find('\n');
        if (end == std::string::npos) return std::nullopt;
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
    }

    SignalWaiter& signals_;
    const int in_ = STDIN_FILENO;
    const int out_ = STDOUT_FILENO;
    std::string buffer_;
    bool closed_ = false;
    std::shared_ptr<Channel> datagrams_;
};

/// If ssh is gone and no data moves over UDP for this time, the other side is gone too. A peer that answers without
/// data may only have lost its ssh, and its disk may be slow.
constexpr Duration kPatienceWithoutSsh = std::chrono::seconds(4);
/// Seconds.
constexpr std::uint64_t kMostLinger = 7 * 24 * 3600;

/// One connection of a requested transfer.
class OneTransfer {
  public:
    /// `alone_until`: until then it waits for a connection without ssh. `lingers`: a lost connection may come again.
    OneTransfer(transfer::Transfer& transfer, DataEnd end, BootstrapChannel& channel, SignalWaiter& signals,
                Instant alone_until, bool lingers)
        : transfer_(transfer),
          channel_(channel),
          signals_(signals),
          alone_until_(alone_until),
          lingers_(lingers),
          observer_(end, false, {}) {
        transfer_.when_done([&signals] { signals.wake(); });
    }

    ExitCode serve(TransferCard card) {
        card.port = transfer_.local_address().port;
        // Without a control socket, the transfer only cannot be listed.
        auto control =
            open_control(nullptr, nullptr, [&] { return Described{.card = card, .seen = observer_.latest()}; });
        const bool wound_up = wait();
        const ExitCode code = this->code();
        control.reset();  // the process may end here, without destructors
        if (!wound_up || code == ExitCode::interrupted) _exit(static_cast<int>(code));
        return code;
    }

  private:
    /// False: the transfer must be abandoned.
    [[nodiscard]] bool wait() {
        const Instant start = monotonic_now();
        while (!transfer_.done()) {
            const auto signal = signals_.wait(SignalWaiter::kTurn);
            const Instant now = monotonic_now();
            if (signal && !interrupt(*signal, now)) return false;
            const bool alone = channel_.closed();
            if (!transfer_.connected_for()) {
                if (signal || (alone && now >= alone_until_)) return true;
                tell_heard();
                continue;
            }
            if (transfer_.stuck()) return false;
            observer_.look({.at = now - start, .progress = transfer_.progress()});
            if (!alone) continue;
            transfer_.suspect_peer();
            if (!lingers_ && !transfer_.cancelled() && transfer_.idle() >= kPatienceWithoutSsh) {
                transfer_.cancel(ErrorCode::timeout, "nothing moved for " + format_elapsed(kPatienceWithoutSsh));
            }
        }
        return true;
    }

    void tell_heard() {
        if (told_heard_ || !transfer_.heard()) return;
        told_heard_ = true;
        BootstrapFields fields;
        fields.add("heard", "1");
        channel_.answer(fields);
    }

    /// False: exit at once.
    bool interrupt(int signal, Instant now) {
        const auto wish = interruption_.on_signal(signal, now);
        if (wish != Interruption::Wish::wind_up) return wish == Interruption::Wish::repeated;
        transfer_.cancel(ErrorCode::interrupted, interrupted_by(signal) + " there");
        return true;
    }

    [[nodiscard]] ExitCode code() const {
        if (interruption_.signal() != 0) return ExitCode::interrupted;
        return transfer_.connected_for() ? exit_code_for(transfer_.outcome()) : ExitCode::udp_blocked;
    }

    transfer::Transfer& transfer_;
    BootstrapChannel& channel_;
    SignalWaiter& signals_;
    const Instant alone_until_;
    const bool lingers_;
    Interruption interruption_;
    bool told_heard_ = false;
    Observer observer_;
};

}  // namespace

std::string host_of_ssh_client() {
    const char* text = std::getenv("SSH_CONNECTION");  // NOLINT(concurrency-mt-unsafe)
    const std::string host = text == nullptr ? std::string() : text;
    return host.substr(0, host.find_first_of(" %"));
}

ExitCode serve_bootstrap(const std::vector<std::string>& arguments,
                         const std::function<Result<RequestedTransfer>(const BootstrapFields& request)>& understand) {
    SignalWaiter signals;
    BootstrapChannel channel(signals);
    auto socket = channel.open(arguments);
    if (!socket) return channel.refuse(socket.error());
    transfer::prepare();
    const auto fields = channel.await();
    if (!fields) return channel.refuse(fields.error());
    const auto key = parse_key(fields->get("key"));
    if (!key) return channel.refuse(broken("has no key"));
    const auto requested = understand(*fields);
    if (!requested) return channel.refuse(requested.error());
    const bool resumable = fields->number("transfer").value_or(0) != 0;
    const Duration patience = requested->options.timeout.value_or(transfer::kPatience);
    // The other side gives up when its patience is used up.
    const Duration linger =
        std::min<Duration>(std::chrono::seconds(std::min(fields->number("linger").value_or(0), kMostLinger)), patience);
    Instant alone_until{};
    std::optional<ExitCode> lost;
    for (;;) {
        transfer::AwaitRequest await{.credentials = Credentials::from_psk(*key),
                                     .connection = requested->options.connection(requested->config)};
        // The datagrams of a new connection wait in the socket while no transfer reads it.
        await.socket.reset(::fcntl(socket->fd.get(), F_DUPFD_CLOEXEC, 0));
        if (lost) await.peer_within = patience;
        auto transfer = await.socket ? requested->await(std::move(await), lost.has_value())
                                     : failed_call(ErrorCode::no_resources, "cannot share the UDP port", errno);
        if (!transfer) return lost ? *lost : channel.refuse(transfer.error());
        if (!lost) channel.answer(requested->answer);
        if (fields->get("channel") == "1" && !channel.closed()) {
            if (const auto datagrams = channel.carry_datagrams()) transfer->add_channel(datagrams);
        }
        const bool lingers = resumable && linger > Duration::zero();
        const ExitCode code =
            OneTransfer(*transfer, requested->end, channel, signals, alone_until, lingers).serve(requested->card);
        if (!transfer->connected_for() && lost) return *lost;
        if (!resumable || !transfer->lost() || (channel.closed() && !lingers)) return code;
        lost = code;
        alone_until = monotonic_now() + linger;
    }
}

}  // namespace udtx::apps
