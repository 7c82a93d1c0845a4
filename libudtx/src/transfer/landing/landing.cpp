#include "transfer/landing/landing.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>

#include "os/system.hpp"
#include "transfer/close_codes.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

namespace {

// An answer may have a thousand pieces. Erased paths are small, so thousands of them are taken.
constexpr std::size_t kMaxAnswers = 256;
constexpr std::size_t kMaxErased = 4096;
// Each holds names and reasons of some kilobytes.
constexpr std::size_t kMaxFailed = 256;
constexpr std::uint64_t kReleasedAtOnce = 64U << 10U;

/// Moves a list back to the news, except the first `most` of it.
template <class List>
void leave(List& news, List& out, std::size_t most) {
    news.swap(out);
    for (; most > 0 && !news.empty(); --most, news.pop_front()) out.push_back(std::move(news.front()));
}

namespace fs = std::filesystem;

/// The most names that are looked up one by one.
constexpr std::size_t kMostNames = 256;

Error failed(const std::string& path, int error) { return system_failure(ErrorCode::file_io, path, error); }

Result<LandingPlace> checked(std::string directory, std::string rename) {
    struct stat info {};
    if (::stat(directory.c_str(), &info) != 0) return failed(directory, errno);
    if (!S_ISDIR(info.st_mode)) return failed(directory, ENOTDIR);
    if (::access(directory.c_str(), W_OK | X_OK) != 0) return failed(directory, errno);
    return LandingPlace{std::move(directory), std::move(rename)};
}

/// The directory that contains the destination, and the destination's last component as the new name.
Result<LandingPlace> renamed(const std::string& destination) {
    const std::size_t slash = destination.rfind('/');
    if (slash == std::string::npos) return checked(".", destination);
    return checked(slash == 0 ? "/" : destination.substr(0, slash), destination.substr(slash + 1));
}

Result<LandingPlace> made(const std::string& destination, bool with_parents, bool dry_run) {
    if (dry_run) {
        if (const auto beside = renamed(destination); !with_parents && !beside) return beside.error();
        return LandingPlace{};
    }
    std::error_code error;
    if (with_parents) {
        fs::create_directories(destination, error);
    } else {
        fs::create_directory(destination, error);
    }
    if (error) return failed(destination, error.value());
    return checked(destination, {});
}

/// True if an earlier run of the transfer began to make the destination.
bool continues(const LandingPlace& landing, std::uint64_t transfer) {
    const std::string journal = landing.directory + '/' + journal_name(transfer);
    return transfer != 0 && ::access(journal.c_str(), F_OK) == 0;
}

bool stands(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 || errno != ENOENT;
}

Result<LandingPlace> in_directory(const std::string& destination, SourceShape shape, std::uint64_t transfer) {
    if (shape == SourceShape::stream) {
        return Error{ErrorCode::file_io, destination + " is a directory: name the file in it, " + destination +
                                             (destination.ends_with('/') ? "" : "/") + "NAME"};
    }
    if (shape == SourceShape::directory && !destination.ends_with('/')) {
        const auto before = renamed(destination);
        if (before && continues(*before, transfer)) return before;
    }
    return checked(destination, {});
}

}  // namespace

void LandingReport::ended(Ended how, EntryType type, const std::string& path, std::uint64_t size) {
    const bool directory = type == EntryType::directory;
    const bool arrived = how == Ended::delivered || how == Ended::part || how == Ended::kept;
    // An earlier run has reported what was kept.
    if (how == Ended::delivered && !directory) job.landed(path, size);
    job.edit([&](Progress& progress, Outcome& outcome) {
        if (how == Ended::unchanged) ++(directory ? outcome.unchanged_directories : outcome.unchanged);
        if (how == Ended::skipped) ++outcome.skipped;
        if (how == Ended::erased) ++outcome.erased;
        if (how == Ended::updated) --outcome.unchanged_directories;
        if (how == Ended::kept) {
            ++outcome.kept_files;
            add_up(outcome.kept_file_bytes, size);
        }
        if (has_content(type) && how != Ended::erased) ++progress.files_done;
        if (has_content(type) && arrived) {
            ++outcome.files;
            add_up(outcome.bytes, size);
        }
        if (directory && (arrived || how == Ended::updated)) ++outcome.directories;
        if (type == EntryType::symlink && arrived) ++outcome.links;
    });
    if (how == Ended::erased) edit([&](News& news) { news.erased.push_back(path); });
    if (arrived) wake();
}

void LandingReport::failed(std::uint64_t index, const std::string& path, const Error& error) {
    job.fail(path, error);
    // The sender knows its own failures.
    if (error.code == ErrorCode::not_sent) return;
    const auto code = static_cast<std::uint64_t>(close_code_for(error.code));
    edit([&](News& news) {
        news.failed.push_back({.index = index, .code = code, .path = path, .reason = error.message});
    });
}

void LandingReport::lacks(EntryType type, Belonging what, const std::string& path, int error_number) {
    job.lacks({.what = what,
               .files = has_content(type) ? 1U : 0U,
               .directories = type == EntryType::directory ? 1U : 0U,
               .links = type == EntryType::symlink ? 1U : 0U,
               .first = path.empty() ? "." : path,
               .reason = std::generic_category().message(error_number)});
}

void LandingReport::kept(std::uint64_t bytes) {
    job.edit([&](Progress&, Outcome& outcome) { add_up(outcome.kept_bytes, bytes); });
}

bool LandingReport::checked(std::uint64_t bytes) {
    job.edit([&](Progress& progress, Outcome&) { progress.bytes_kept += bytes; });
    if (job.worked()) wake();
    return !stopped();
}

void LandingReport::warn(const std::string& text) {
    job.warn(text);
    edit([&](News& news) { news.notes.push_back(text); });
}

void LandingReport::fatal(const Error& error) {
    edit([&](News& news) { news.fatal = error; });
}

void LandingReport::answer(message::Answer answer) {
    edit([&](News& news) { news.answers.push_back(std::move(answer)); });
}

void LandingReport::confirm(const message::Confirm& confirm) {
    edit([&](News& news) { news.confirm = confirm; });
}

void LandingReport::note_released(std::uint64_t bytes) {
    bool worth_telling = false;
    {
        const Lock lock(mutex_);
        news_.released_bytes += bytes;
        worth_telling = news_.released_bytes >= kReleasedAtOnce;
    }
    if (worth_telling) wake();
}

void LandingReport::tell_released() {
    bool any = false;
    {
        const Lock lock(mutex_);
        any = news_.released_bytes > 0;
    }
    if (any) wake();
}

bool LandingReport::room_for_more() const {
    return news_.answers.size() < kMaxAnswers && news_.erased.size() < kMaxErased && news_.failed.size() < kMaxFailed &&
           news_.notes.size() < kMaxFailed;
}

LandingReport::News LandingReport::take(Lists lists) {
    News out;
    bool room = false;
    {
        const Lock lock(mutex_);
        const bool had_room = room_for_more();
        woken_ = false;
        out = std::exchange(news_, {});
        if (lists != Lists::all) {
            const bool some = lists == Lists::some;
            leave(news_.answers, out.answers, some ? kMaxAnswers : 0);
            leave(news_.erased, out.erased, some ? kMaxErased : 0);
            leave(news_.failed, out.failed, some ? kMaxFailed : 0);
            leave(news_.notes, out.notes, some ? kMaxFailed : 0);
            const bool empty =
                news_.answers.empty() && news_.erased.empty() && news_.failed.empty() && news_.notes.empty();
            out.more = some && !empty;
            if (!empty) news_.confirm.swap(out.confirm);
        }
        room = !had_room && room_for_more();
    }
    if (room && room_) room_();
    return out;
}

message::Offer agreed(message::Offer offer, const LandingOptions& options) {
    offer.overwrite = std::min(offer.overwrite, options.overwrite);
    offer.owner = offer.owner && ::geteuid() == 0;
    offer.set_id = offer.set_id && offer.preserve;
    return offer;
}

std::uint64_t random_number() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

bool holds_anything(const ConfinedDir& directory) {
    int error = 0;
    // A directory that cannot be read may hold something.
    return holds_anything(names_in(directory.fd(), error)) || error != 0;
}

bool holds_anything(const std::vector<std::string>& names) {
    return !std::all_of(names.begin(), names.end(), [](const std::string& name) { return is_transfer_file(name); });
}

message::Totals totals_of(const JobReport& report) {
    const Outcome outcome = report.outcome();
    return {.files = outcome.files,
            .directories = outcome.directories,
            .links = outcome.links,
            .bytes = outcome.bytes,
            .written_bytes = outcome.sent_bytes,
            .failures = outcome.failed_count,
            .unchanged = outcome.unchanged,
            .skipped = outcome.skipped,
            .erased = outcome.erased,
            .files_done = report.progress().files_done,
            .unchanged_directories = outcome.unchanged_directories};
}

SourceShape shape_of(const std::vector<std::string>& sources) {
    if (sources.size() != 1) return SourceShape::several;
    const std::string& source = sources.front();
    if (source == "-") return SourceShape::stream;
    const std::string leaf = source.substr(source.rfind('/') + 1);
    if (leaf.empty() || leaf == "." || leaf == "..") return SourceShape::contents;
    struct stat info {};
    const bool directory = ::lstat(source.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    return directory ? SourceShape::directory : SourceShape::file;
}

Result<LandingPlace> find_landing(const std::string& destination, SourceShape shape, std::uint64_t transfer,
                                  bool dry_run) {
    const std::string where = destination.empty() ? "." : destination;
    struct stat info {};
    if (::stat(where.c_str(), &info) == 0) {
        if (S_ISDIR(info.st_mode)) return in_directory(where, shape, transfer);
        const bool replaces = shape == SourceShape::file || shape == SourceShape::stream;
        return replaces ? renamed(where) : failed(where, ENOTDIR);
    }
    if (errno != ENOENT) return failed(where, errno);
    if (where.ends_with('/') && shape != SourceShape::stream) return made(where, true, dry_run);
    switch (shape) {
        case SourceShape::contents:
            return made(where, false, dry_run);
        case SourceShape::several:
            return Error{ErrorCode::file_io, where + ": no such directory; end it with '/' to create it"};
        case SourceShape::stream:
            if (where.ends_with('/')) {
                return Error{ErrorCode::file_io, where + " is not a file name: a stream needs one"};
            }
            [[fallthrough]];
        case SourceShape::file:
        case SourceShape::directory:
            return renamed(where);
    }
    return failed(where, EINVAL);
}

bool is_fresh(const std::string& destination, const std::vector<std::string>& names, std::uint64_t transfer) {
    const std::string where = destination.empty() ? "." : destination;
    // If the tree has a new name, its journal is beside it.
    const auto beside = renamed(where.substr(0, where.find_last_not_of('/') + 1));
    if (beside && continues(*beside, transfer)) return false;
    if (!stands(where)) return true;
    if (names.empty() || continues({where, {}}, transfer)) return false;
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& name) { return stands(where + '/' + name); });
}

std::vector<std::string> names_of(const std::vector<std::string>& sources) {
    std::vector<std::string> names;
    for (const std::string& source : sources) {
        std::string name = source.substr(source.rfind('/') + 1);
        if (name.empty() || name == "." || name == ".." || names.size() == kMostNames) return {};
        names.push_back(std::move(name));
    }
    return names;
}

}  // namespace udtx::transfer
