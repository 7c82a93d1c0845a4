#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "transfer/checksum.hpp"
#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/eraser.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/landing/old_content.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

/// The errors that making a link meets; 0: it works, or this is unknown.
struct LinkErrors {
    int hard = 0;
    int symbolic = 0;
};

LinkErrors try_links(int directory, const struct stat& st) {
#ifdef O_TMPFILE
    // Every file system with unnamed files has links.
    if (UniqueFd(open_entry(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600))) return {};
#endif
    std::array<std::string, 3> names;
    for (std::string& name : names) name = temp_name(random_number());
    const UniqueFd file(
        open_entry(directory, names[0].c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return {};
    LinkErrors out;
    out.hard = ::linkat(directory, names[0].c_str(), directory, names[1].c_str(), 0) == 0 ? 0 : errno;
    out.symbolic = ::symlinkat("target", directory, names[2].c_str()) == 0 ? 0 : errno;
    for (const std::string& name : names) ::unlinkat(directory, name.c_str(), 0);
    static_cast<void>(set_file_time(directory, mtime_of(st)));
    return out;
}

/// Finds out whether a file system has hard and symbolic links.
class DiskLinks {
  public:
    /// On a file system without unnamed files, it makes links under temporary names and removes them. The directory
    /// keeps its time.
    [[nodiscard]] LinkErrors in(int directory) {
        struct stat st = {};
        if (::fstat(directory, &st) != 0) return {};
        const auto known = known_.find(st.st_dev);
        if (known != known_.end()) return known->second;
        return known_[st.st_dev] = try_links(directory, st);
    }

  private:
    std::map<dev_t, LinkErrors> known_;
};

/// True if a hard link would be a copy because of this error. Reports that.
bool is_copied(LandingReport& report, int error, const std::string& path) {
    if (error != 0) report.lacks(EntryType::hard_link, Belonging::hard_link, path, error);
    return error != 0;
}

/// Reports what would happen to each file, and changes nothing.
class DryLanding final : public Landing {
  public:
    DryLanding(ConfinedDir root, const message::Offer& offer, const LandingOptions& options, LandingReport& report)
        : root_(std::move(root)),
          offer_(agreed(offer, options)),
          report_(report),
          erase_(offer.erase),
          counts_(!options.planned),
          old_(root_, offer_, report),
          claims_(root_),
          eraser_(root_, claims_, report, nullptr) {}

    void take(ReceiveOp op) override { std::visit(*this, std::move(op)); }
    bool go_on() override {
        if (finish_) return finish_more();
        if (!hashed_) return false;
        const bool any = old_.go_on([this](message::Answer answer) {
            answer.changes = hashed_->second;
            report_.answer(std::move(answer));
        });
        if (!any) old_.forget(std::exchange(hashed_, std::nullopt)->first);
        return any;
    }

    void operator()(const message::Entry& entry) {
        latest_ = entry;
        if (erase_) eraser_.keep(join_path(entry.path), entry.type == EntryType::directory);
    }
    void operator()(const message::Query& query) {
        const std::string path = join_path(query.path);
        const bool of_entry = latest_ && latest_->path == query.path;
        if (erase_ && !of_entry) eraser_.keep(path, false);
        const EntryType type = of_entry ? latest_->type : EntryType::file;
        const std::uint8_t changes = changes_of(type, path, query);
        const auto say = [&](Holding has) {
            report_.answer({query.number, has, 0, {}, changes});
            return has;
        };
        std::optional<Holding> has;
        if (falls_together_with_another(query, path, of_entry) || (!of_entry && is_blocked(path))) {
            has = say(Holding::blocked);
        } else if (of_entry) {
            has = say(holding_of(*latest_, path, query));
        } else if (cannot_be_made(EntryType::file, path, query)) {
            has = say(Holding::blocked);
        } else {
            has = old_.answer(query, [this, changes](message::Answer answer) {
                answer.changes = changes;
                report_.answer(std::move(answer));
            });
        }
        if (has == Holding::same || has == Holding::exists) claims_.note_kept(path);
        const bool is_directory = type == EntryType::directory;
        if (has == Holding::same && counts_ && !is_directory) report_.ended(Ended::unchanged, type, path, 0);
        if (has == Holding::exists && counts_) report_.ended(Ended::skipped, type, path, 0);
        if (!has) hashed_.emplace(path, changes);
        latest_.reset();  // a second query about a link asks for a file in its place
    }
    void operator()(const message::Unsent& unsent) {
        if (!erase_) return;
        for (const std::string& path : unsent.paths) eraser_.keep_unsent(path);
    }
    void operator()(const message::Rules& rules) {
        if (auto added = eraser_.add(rules); !added) report_.fatal(added.error());
    }
    void operator()(const message::Finish& finish) {
        if (erase_ && (finish.unsent != 0 || report_.job.outcome().failed_count != 0)) {
            report_.job.warn("nothing would be deleted, because not everything would arrive");
        } else if (erase_) {
            auto begun = eraser_.begin();
            if (!begun) report_.failed(kNoEntry, ".", begun.error());
            erase_ = begun.ok();
        }
        finish_ = true;
    }
    template <class Other>
    void operator()(const Other& /*o*/) {}

  private:
    /// Reports more of what would be deleted, and confirms when all is reported.
    bool finish_more() {
        if (erase_ && eraser_.go_on()) return true;
        finish_ = false;
        const message::Confirm confirm{totals_of(report_.job), RootDigest(offer_.hash).finish()};
        report_.confirm(confirm);
        return false;
    }
    /// What exists of a directory or a link.
    Holding holding_of(const message::Entry& entry, const std::string& path, const message::Query& query) {
        if (entry.type == EntryType::symlink && is_link_to(root_, path, entry.target)) return Holding::same;
        if (entry.type == EntryType::hard_link && is_same_file(root_, path, entry.target)) return Holding::same;
        const bool directory = entry.type == EntryType::directory;
        const bool there = directory && occupant_of(root_, path) == Occupant::directory;
        if (there) return Holding::same;
        if (old_.must_stay(path)) return Holding::exists;
        if (!directory && is_blocked(path)) return Holding::blocked;
        if (cannot_be_made(entry.type, path, query)) return Holding::blocked;
        const bool copied = entry.type == EntryType::hard_link && is_copied(report_, links_made_in(path).hard, path);
        if (!copied) return Holding::nothing;
        // A run gives the copy the time that the disk has made of the file's.
        struct stat of = {};
        const bool stays = old_.is_same(entry.target, query.size, query.mtime) && old_.look(entry.target, of);
        return old_.is_same(path, query.size, stays ? mtime_of(of) : query.mtime) ? Holding::same : Holding::nothing;
    }
    /// The directory in which a run would make the entry.
    UniqueFd nearest_directory(const std::string& path) {
        std::string directory = path;
        OpenedFd opened{{}, ENOENT};
        while (opened.error == ENOENT && !directory.empty()) {
            directory = split_leaf(directory).directory;
            opened = root_.open_directory(directory);
        }
        return std::move(opened.fd);
    }
    LinkErrors links_made_in(const std::string& path) {
        const UniqueFd fd = nearest_directory(path);
        return fd ? disk_links_.in(fd.get()) : LinkErrors();
    }
    /// True if a run could not make or replace the entry. Reports that.
    bool cannot_be_made(EntryType type, const std::string& path, const message::Query& query) {
        struct stat st = {};
        const bool there = old_.look(path, st);
        // If its content is the same, it stays where it is.
        const bool stays = there && S_ISREG(st.st_mode) && static_cast<std::uint64_t>(st.st_size) == query.size;
        if (old_.must_stay(path) || (type == EntryType::file && stays)) return false;
        const UniqueFd fd = nearest_directory(path);
        int error = fd ? bars_changes(fd.get()) : 0;
        // A run opens up a directory of its own user.
        if (error == EACCES && ::fstat(fd.get(), &st) == 0 && st.st_uid == ::geteuid()) error = 0;
        if (error == 0 && fd && there) error = bars_removal(fd.get(), split_leaf(path).leaf);
        if (error == 0 && fd && type == EntryType::symlink) error = disk_links_.in(fd.get()).symbolic;
        if (error != 0) report_.failed(kNoEntry, path, io_error("cannot create", path, error));
        return error != 0;
    }
    /// True if the file system treats the name and another one as the same. Two directories become one.
    bool falls_together_with_another(const message::Query& query, const std::string& path, bool of_entry) {
        if (of_entry && latest_->type == EntryType::directory && occupant_of(root_, path) == Occupant::directory) {
            return false;
        }
        auto free = claims_.take(path);
        const bool same = !free && !of_entry && old_.is_same(path, query.size, query.mtime);
        if (same) free = claims_.take(path, EntryClaims::For::keeping);
        if (!free) report_.failed(kNoEntry, path, free.error());
        return !free;
    }
    /// What a run would change in the existing entry: flags of namespace change.
    std::uint8_t changes_of(EntryType type, const std::string& path, const message::Query& query) {
        struct stat st = {};
        if (!old_.look(path, st)) return change::kNew;
        const bool directory = type == EntryType::directory;
        if (type == EntryType::symlink && is_link_to(root_, path, latest_->target)) return 0;
        if (type == EntryType::hard_link && is_same_file(root_, path, latest_->target)) return 0;
        if (type == EntryType::symlink) return S_ISLNK(st.st_mode) ? change::kContent : change::kNew;
        if (type == EntryType::hard_link) return S_ISREG(st.st_mode) ? change::kContent : change::kNew;
        if (directory ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode)) return change::kNew;
        std::uint8_t out = 0;
        if (!directory && static_cast<std::uint64_t>(st.st_size) != query.size) out |= change::kSize;
        if ((offer_.preserve || !directory) && !old_.has_time(st, query.mtime)) out |= change::kTime;
        const std::uint32_t bits = directory && !offer_.set_id ? mode_bits::kOfDirectory : bits_to_set(offer_);
        const std::uint32_t mode =
            directory ? mode_bits::of_directory(query.mode, offer_.set_id, offer_.owner) : query.mode;
        if (offer_.preserve && ((st.st_mode ^ mode) & bits) != 0) out |= change::kMode;
        if (offer_.owner && query.has_owner && st.st_uid != query.user) out |= change::kOwner;
        if (offer_.owner && query.has_owner && st.st_gid != query.group) out |= change::kGroup;
        if (query.has_attributes && !has_attributes(path, directory, query.attributes)) out |= change::kAttributes;
        return out;
    }
    bool has_attributes(const std::string& path, bool directory, std::uint64_t key) {
        const int flags = directory ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
        const UniqueFd fd = root_.open_at(path, flags).fd;
        std::vector<message::Attribute> attributes;
        return fd && read_attributes(fd.get(), attributes).none() && attributes_key(std::move(attributes)) == key;
    }
    /// True if a directory cannot make way for a file or a link. Reports that.
    bool is_blocked(const std::string& path) {
        if (old_.must_stay(path) || !old_.is_directory(path)) return false;
        const auto way = check_way(root_, path, erase_ ? &eraser_ : nullptr);
        if (!way) report_.failed(kNoEntry, path, way.error());
        if (way && erase_ && cleared_.insert(path_key(path)).second) {
            const SplitName split = split_leaf(path);
            const UniqueFd parent = root_.open_directory(split.directory).fd;
            if (parent) static_cast<void>(eraser_.clear(parent.get(), split.leaf, path));
        }
        return !way;
    }

    const ConfinedDir root_;
    const message::Offer offer_;
    LandingReport& report_;
    std::optional<std::pair<std::string, std::uint8_t>> hashed_;  // the file being hashed for an answer
    std::optional<message::Entry> latest_;                        // a directory or a link: its query follows at once
    std::unordered_set<std::uint64_t> cleared_;  // directories that are counted as deleted, by path key
    bool erase_;
    const bool counts_;    // otherwise the sender reports what would happen, and its counts apply
    bool finish_ = false;  // no more queries arrive
    OldContent old_;
    EntryClaims claims_;
    Eraser eraser_;
    DiskLinks disk_links_;
};

/// For a destination without entries: no answers, and nothing to delete.
class EmptyDryLanding final : public Landing {
  public:
    /// `root`: empty if the destination does not exist.
    EmptyDryLanding(std::optional<ConfinedDir> root, const message::Offer& offer, LandingReport& report)
        : root_(std::move(root)), hash_(offer.hash), report_(report) {}
    void take(ReceiveOp op) override {
        if (const auto* begun = std::get_if<message::Entry>(&op); begun != nullptr && root_) begin(*begun);
        if (!std::holds_alternative<message::Finish>(op)) return;
        const message::Confirm confirm{{}, RootDigest(hash_).finish()};
        report_.confirm(confirm);
    }

  private:
    void begin(const message::Entry& entry) {
        const std::string path = join_path(entry.path);
        if (entry.type == EntryType::hard_link) is_copied(report_, disk_links_.in(root_->fd()).hard, path);
        const int error = entry.type == EntryType::symlink ? disk_links_.in(root_->fd()).symbolic : 0;
        if (error != 0) report_.failed(kNoEntry, path, io_error("cannot make link", path, error));
    }

    const std::optional<ConfinedDir> root_;
    HashAlgorithm hash_;
    LandingReport& report_;
    DiskLinks disk_links_;
};

}  // namespace

std::unique_ptr<Landing> land_nowhere(const ConfinedDir* base, const message::Offer& offer,
                                      const LandingOptions& options, LandingReport& report) {
    auto root = base == nullptr ? Result<ConfinedDir>(Error{ErrorCode::file_io, "no such directory"})
                                : base->subdirectory(join_path(offer.destination));
    const bool active = root.ok() && holds_anything(*root);
    report.edit([&](LandingReport::News& news) { news.resume = message::Resume{active, {}}; });
    if (!active) {
        // What the run makes the destination of is probably on the same file system.
        if (!root && base != nullptr) root = base->subdirectory("");
        auto there = root ? std::optional(std::move(root).value()) : std::nullopt;
        return std::make_unique<EmptyDryLanding>(std::move(there), offer, report);
    }
    return std::make_unique<DryLanding>(std::move(root).value(), offer, options, report);
}

}  // namespace udtx::transfer
