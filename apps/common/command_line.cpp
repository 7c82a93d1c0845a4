#include "common/command_line.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <CLI/CLI.hpp>

#include "common/process.hpp"
#include "common/text.hpp"
#include "udtx/transfer/selection.hpp"
#include "udtx/version.hpp"

namespace udtx::apps {
namespace {

constexpr std::size_t kWidth = 100;

/// What two ends need in common to talk to each other. Scripts read the program's version from the first line.
std::string versions_text(const std::string& program) {
    std::string wire;
    for (const std::uint32_t version : wire_versions()) wire += (wire.empty() ? "" : ", ") + std::to_string(version);
    return program + " " + program_version() + "\nwire format " + wire + "\ntransfer protocol " +
           std::to_string(transfer::kTransferVersion) + ", oldest understood " +
           std::to_string(transfer::kOldestTransferVersion);
}

std::string examples(const Manual& manual) {
    std::string out = "Examples:\n";
    for (const auto& one : manual.examples) {
        out.append("  ").append(one.text).append("\n      ").append(one.command) += '\n';
    }
    return out;
}

std::string exit_codes(const Manual& manual) {
    std::string line = "Exit codes:";
    for (const ExitCode code : manual.exit_codes) {
        line += (line.ends_with(':') ? " " : ", ") + std::to_string(static_cast<int>(code)) + ' ' +
                std::string(meaning_of(code));
    }
    return wrapped(line + '.', kWidth) + '\n';
}

std::string commands(const Manual& manual) {
    std::size_t longest = 0;
    for (const auto& one : manual.commands) longest = std::max(longest, one.name.size());
    std::string out = "Commands (each has --help):\n";
    for (const auto& one : manual.commands) {
        out += "  " + std::string(one.name) + std::string(longest + 2 - one.name.size(), ' ') + std::string(one.text) +
               '\n';
    }
    return out;
}

}  // namespace

std::string plain_text(const Manual& manual) {
    std::string out;
    for (const auto paragraph : manual.description) out += wrapped(paragraph, kWidth) + "\n\n";
    if (!manual.commands.empty()) out += commands(manual) + '\n';
    if (!manual.examples.empty()) out += examples(manual) + '\n';
    return out + exit_codes(manual);
}

std::string short_text(const Manual& manual, const std::string& command) {
    return examples(manual) + '\n' + commands(manual) + '\n' + command + " --help-all lists every flag. man " +
           command + " explains them.\n";
}

namespace {

/// Flags, separated by spaces, and the advice for each of them.
constexpr auto kHabits = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"-z --compress --compress-level --compress-choice --zc --zl --skip-compress --old-compress --new-compress",
     "udtx does not compress: leave it out"},
    {"-t --times", "udtx always preserves timestamps of files: leave it out"},
    {"--copy-links --copy-unsafe-links --copy-dirlinks -K --keep-dirlinks --munge-links --symbolic-links",
     "udtx sends symbolic links as links, or skips them with --no-links or --safe-links"},
    {"-L", "udtx sends symbolic links as links, or skips them with --no-links; for a directory of logs use --log FILE"},
    {"--partial --partial-dir --append --append-verify", "udtx always keeps and continues partial files: leave it out"},
    {"-e --rsh", "use --ssh COMMAND"},
    {"--rsync-path", "use --remote-bin PATH"},
    {"-J -F", "use --ssh COMMAND, such as --ssh 'ssh -J HOST'"},
    {"-o", "use --owner, or --ssh 'ssh -o OPTION'"},
    {"-u --update --ignore-existing", "use --overwrite never, which keeps all existing files"},
    {"--existing --ignore-non-existing", "udtx has no such choice: list the names with --files-from"},
    {"--inplace", "udtx sends only the changed blocks of a file: leave it out"},
    {"-W --whole-file", "use --overwrite always, which sends every file whole"},
    {"-B --block-size", "udtx chooses its blocks: leave it out"},
    {"-I --ignore-times", "use -c, which compares contents, or --overwrite always"},
    {"--size-only", "udtx compares size and time, or contents with -c"},
    {"--modify-window", "udtx takes the times that the file system there can hold: leave it out"},
    {"--max-delete", "udtx has no such limit: -n lists first what a run would do"},
    {"--del --delete-before --delete-during --delete-delay --delete-after",
     "udtx has only --delete, which acts after everything arrived"},
    {"--delete-excluded --delete-missing-args", "udtx never deletes names that it does not compare: remove them there"},
    {"--force --ignore-errors", "udtx deletes nothing in such a case: remove it there"},
    {"--remove-source-files --remove-sent-files --remove-after-transfer --move-after-transfer "
     "--remove-empty-directories --remove-empty-source-directory",
     "udtx never removes sources: remove them after exit code 0"},
    {"-R --relative", "use --files-from FILE, whose names keep their directories"},
    {"--no-implied-dirs --no-relative --checksum-seed --protocol --iconv --fuzzy -y --no-motd --blocking-io --outbuf",
     "udtx has no such choice: leave it out"},
    {"-x --one-file-system", "udtx crosses mount points: exclude each with --exclude /DIR/"},
    {"-A --acls", "udtx does not send ACLs: use getfacl -R here and setfacl --restore there"},
    {"-E --executability --perms --chmod", "use -p, which preserves modes"},
    {"-g --group --chown --usermap --groupmap", "use --owner, which preserves user and group ids"},
    {"--numeric-ids", "udtx always uses numeric ids: leave it out"},
    {"-D --devices --specials --copy-devices --write-devices --skip-special-files",
     "udtx sends files, directories and links, and skips the rest: leave it out"},
    {"--super --fake-super", "udtx sets owners if the receiver runs as root: use --owner"},
    {"-U --atimes --open-noatime --crtimes --omit-dir-times --omit-link-times",
     "use -p for timestamps of directories and links; udtx sends no others"},
    {"--link-dest --copy-dest --compare-dest",
     "udtx has none: run cp -a --reflink=auto OLD NEW there, and send to NEW"},
    {"-b --backup --backup-dir --suffix --save-before-overwrite",
     "udtx keeps no older versions: copy the destination first"},
    {"-f --filter --include-from", "use --include, --exclude and --exclude-from"},
    {"-C --cvs-exclude", "use --exclude-from FILE; udtx does not compress"},
    {"-N", "use --include PATTERN"},
    {"--max-size --min-size", "udtx selects by name: use find with --files-from"},
    {"--prune-empty-dirs", "udtx sends empty directories: list the names with --files-from"},
    {"--file-list --file-pair-list", "use --files-from FILE"},
    {"--file-manifest", "use --receipt FILE"},
    {"--itemize-changes --out-format --list-only", "use -n, which lists changes as rsync does"},
    {"--human-readable --8-bit-output -8", "udtx always prints readable sizes and names: leave it out"},
    {"--info --debug --msgs2stderr --stderr", "use -v or --stats"},
    {"--log-file --log-file-format", "use --log FILE"},
    {"--daemon", "use udtx-recv --listen"},
    {"--password-file", "use --psk-file FILE"},
    {"--port --sockopts", "write the port in the URL: udtx://HOST:PORT/"},
    {"--address", "use --path INTERFACE"},
    {"--contimeout --retry-timeout", "use --timeout SECONDS"},
    {"--user --host --mode --src-base", "write SRC... [USER@]HOST:PATH, or fetch with udtx-recv"},
    {"--fsync", "udtx syncs every file before it reports success: leave it out"},
    {"--preallocate", "udtx allocates files before it writes them: leave it out"},
    {"--checksum-choice --file-checksum", "use --checksum xxh128 or sha256"},
    {"-T --temp-dir", "udtx writes beside each file, and always encrypts: leave it out"},
    {"--delay-updates", "udtx gives each file its name when it is complete: leave it out"},
    {"--stop-after --stop-at --time-limit", "use timeout(1); the same command continues later"},
    {"--mkpath -d", "udtx creates missing directories: leave it out"},
    {"--dirs --old-dirs", "with --files-from directories are sent without their contents, otherwise with them"},
    {"-s --secluded-args --protect-args --old-args --trust-sender",
     "names reach the other end unchanged: leave it out"},
    {"-M --remote-option --copy-as --early-input", "give the flag here: udtx passes on what the other end needs"},
    {"--read-batch --write-batch --only-write-batch", "udtx has no batches: send to each destination"},
    {"-3", "udtx copies between this machine and another one: run it on one of the two"},
    {"-Q -QQ", "--policy fair is the default: leave it out"},
    {"-G --preserve-file-owner-uid --preserve-file-owner-gid --preserve-modification-time --preserve-access-time "
     "--preserve-creation-time",
     "leave it out, or use -p and --owner"},
    {"-Z --datagram-size", "use --mtu BYTES"},
});

bool has_word(std::string_view words, std::string_view word) {
    for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
    }
    return false;
}

}  // namespace

std::optional<std::string> advice_for_habit(std::string_view flag) {
    const auto* const found =
        std::ranges::find_if(kHabits, [&](const auto& habit) { return has_word(habit.first, flag); });
    if (found != kHabits.end()) return std::string(found->second);
    if (flag.starts_with("--no-")) return "udtx has no flag to turn this off: leave out what turns it on";
    return std::nullopt;
}

namespace {

using OfOthers = std::function<std::vector<std::string>()>;

/// The second name of a flag, and the flag that it means.
constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kOtherNames{{{"streams", "threads"}}};

/// Replaces second names of flags by the flags' own names.
void replace_other_names(std::vector<std::string>& arguments) {
    for (std::string& word : arguments) {
        if (word == "--") return;
        if (!word.starts_with("--")) continue;
        const std::string name = word.substr(2, word.find('=') - 2);
        word.replace(2, name.size(), flag_meant_by(name));
    }
}

std::vector<std::string> long_flags(const CLI::App& app) {
    std::vector<std::string> out;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
    return out;
}

/// Advice for an unknown flag. A flag of one letter gets no guess, because it resembles every other.
std::string advice_for(const CLI::App& app, const std::string& name, const OfOthers& of_others) {
    if (const auto habit = advice_for_habit(name)) return "; " + *habit;
    if (of_others && name.size() > 2) {
        const auto others = of_others();
        if (std::find(others.begin(), others.end(), name.substr(2)) != others.end()) {
            return std::string("; it is a flag of ") + (app.get_name() == "udtx-send" ? "udtx-recv" : "udtx-send");
        }
    }
    const auto guess = name.size() > 2 ? nearest_harmless(name, long_flags(app)) : std::nullopt;
    return guess ? "; did you mean " + *guess + "?" : "; see --help";
}

Error unknown_argument(const CLI::App& app, const std::vector<std::string>& extras, const OfOthers& of_others) {
    const auto flag = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& s) { return s.size() > 1 && s.front() == '-'; });
    if (flag == extras.end()) {
        return {ErrorCode::invalid_argument,
                "unexpected argument '" + extras.front() + "'; see " + app.get_name() + " --help"};
    }
    std::string name = flag->substr(0, flag->find('='));
    // If letters share one word ("-abc"), the first of them is the unknown one.
    if (name.size() > 2 && name[1] != '-' && static_cast<unsigned char>(name[1]) < 0x80) name.resize(2);
    return {ErrorCode::invalid_argument, "unknown flag '" + name + "'" + advice_for(app, name, of_others)};
}

/// Finds a `--flag=` without a value. A script with an unset variable may write one, and CLI11 would take the next word
/// as its value.
std::optional<Error> missing_value(const CLI::App& app, const std::vector<std::string>& arguments) {
    for (const std::string& word : arguments) {
        if (word == "--") break;
        if (word.size() < 4 || !word.starts_with("--") || word.find('=') != word.size() - 1) continue;
        const std::string flag = word.substr(0, word.size() - 1);
        if (option_named(app, std::string_view(flag).substr(2)) == nullptr) continue;
        return Error{ErrorCode::invalid_argument, flag + ": the value after '=' is missing"};
    }
    return std::nullopt;
}

std::optional<Error> empty_value(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional() || option->get_items_expected_max() == 0) continue;
        const auto& values = option->results();
        if (std::find(values.begin(), values.end(), "") == values.end()) continue;
        return Error{ErrorCode::invalid_argument, "--" + option->get_lnames().front() + ": the value is empty"};
    }
    return std::nullopt;
}

/// CLI11 takes "-22" for a number and therefore for a name, also the rest of "-p22".
std::optional<std::string> number_as_name(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_positional()) continue;
        for (const std::string& value : option->results()) {
            if (value.size() > 1 && value.front() == '-') return value;
        }
    }
    return std::nullopt;
}

constexpr std::size_t kHelpWidth = 110;    // characters
constexpr std::size_t kDescriptions = 34;  // column in which descriptions start

/// Leaves out defaults: --show-config prints them, and descriptions mention them.
class HouseFormatter : public CLI::Formatter {
  public:
    [[nodiscard]] std::string make_option_desc(const CLI::Option* option) const override {
        return wrapped(option->get_description(), kHelpWidth - kDescriptions);
    }
    [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
        if (option->get_items_expected_max() == 0) return {};
        const bool repeatable = option->get_expected_max() == CLI::detail::expected_max_vector_size;
        return " " + option->get_type_name() + (repeatable ? " ..." : "");
    }
};

/// Lists only the flags of the manual's tasks, except for --help-all.
class ShortFormatter : public HouseFormatter {
  public:
    explicit ShortFormatter(Manual manual) : manual_(std::move(manual)) {}

    [[nodiscard]] std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
        if (mode == CLI::AppFormatMode::All) return HouseFormatter::make_help(app, name, CLI::AppFormatMode::Normal);
        std::string out = app->get_description() + "\n\nUsage:\n";
        for (const auto synopsis : manual_.synopses) {
            out.append("  ").append(app->get_name()).append(" [flags] ").append(synopsis) += '\n';
        }
        for (const auto& task : manual_.tasks) {
            out.append("\n").append(task.name).append(":\n");
            for (const auto flag : task.flags) {
                if (const auto* option = option_named(*app, flag)) out += make_option(option, false);
            }
        }
        return out + '\n' + short_text(manual_, app->get_name());
    }

  private:
    Manual manual_;
};

}  // namespace

std::optional<std::string> nearest_harmless(std::string_view typed, std::vector<std::string> known) {
    std::erase_if(known, [](const std::string& name) { return name.find("delete") != std::string::npos; });
    return nearest(typed, known);
}

std::string_view flag_meant_by(std::string_view name) noexcept {
    const auto* found = std::ranges::find(kOtherNames, name, [](const auto& pair) { return pair.first; });
    return found == kOtherNames.end() ? name : found->second;
}

std::string_view other_name_of(std::string_view flag) noexcept {
    const auto* found = std::ranges::find(kOtherNames, flag, [](const auto& pair) { return pair.second; });
    return found == kOtherNames.end() ? std::string_view() : found->first;
}

void use_house_style(CLI::App& app) {
    app.formatter(std::make_shared<HouseFormatter>());
    app.option_defaults()->always_capture_default();
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.allow_extras();
    app.set_help_flag("-h,--help", "Print this text and exit");
    app.set_version_flag("-V,--version", versions_text(app.get_name()),
                         "Print the versions of program, wire format and transfer protocol, and exit");
    app.get_formatter()->column_width(kDescriptions);
}

void use_short_help(CLI::App& app, const Manual& manual) {
    app.set_help_flag("-h,--help", "Print the most used flags and exit");
    app.set_help_all_flag("--help-all", "Print every flag and exit");
    app.footer(plain_text(manual));
    app.formatter(std::make_shared<ShortFormatter>(manual));
    app.get_formatter()->column_width(kDescriptions);
}

const CLI::Option* option_named(const CLI::App& app, std::string_view name) {
    for (const CLI::Option* option : app.get_options()) {
        const auto& names = option->get_lnames();
        if (std::find(names.begin(), names.end(), name) != names.end()) return option;
    }
    return nullptr;
}

Result<EarlyText> parse_arguments(CLI::App& app, std::vector<std::string> arguments, const OfOthers& of_others) {
    if (arguments.size() == 1 && arguments.front() == "help") arguments = {"--help"};
    replace_other_names(arguments);
    if (auto missing = missing_value(app, arguments)) return *missing;
    const bool names_follow = std::find(arguments.begin(), arguments.end(), "--") != arguments.end();
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes arguments from the back
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        return EarlyText(app.help());
    } catch (const CLI::CallForAllHelp&) {
        return EarlyText(app.help("", CLI::AppFormatMode::All));
    } catch (const CLI::CallForVersion& e) {
        return EarlyText(std::string(e.what()) + "\n");
    } catch (const CLI::ParseError& e) {
        return Error{ErrorCode::invalid_argument, std::string(e.what()) + "; see " + app.get_name() + " --help"};
    }
    std::vector<std::string> extras = app.remaining();
    std::erase(extras, "--");  // CLI11 includes the mark itself
    if (const auto number = names_follow ? std::nullopt : number_as_name(app)) extras.insert(extras.begin(), *number);
    if (!extras.empty()) return unknown_argument(app, extras, of_others);
    if (auto empty = empty_value(app)) return *empty;
    return EarlyText();
}

Error with_short_name(const CLI::App& app, Error error) {
    const std::string flag = error.message.substr(0, error.message.find_first_of(": "));
    const CLI::Option* const option =
        flag.starts_with("--") ? option_named(app, std::string_view(flag).substr(2)) : nullptr;
    if (option != nullptr && !option->get_snames().empty()) {
        error.message.insert(0, "-" + option->get_snames().front() + "/");
    }
    return error;
}

}  // namespace udtx::apps
