#include "common/habits.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace udtx::apps {
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

}  // namespace udtx::apps
