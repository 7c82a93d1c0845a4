#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/committer.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/names.hpp"
#include "transfer/old/leftovers.hpp"

namespace udtx::transfer {

namespace {

#ifdef MSG_NOSIGNAL
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;
#endif

Error is_directory(const std::string& name) {
    return {ErrorCode::refused,
            "'" + escape_name(name) + "' is a directory: name the file in it, " + escape_name(name) + "/NAME"};
}

Error stays(const std::string& name) {
    return {ErrorCode::refused,
            "'" + escape_name(name) + "' exists, and '--overwrite never' protects it: send the stream to another name"};
}

class ProbeLanding final : public Landing {
  public:
    explicit ProbeLanding(LandingReport& report) : report_(report) {}
    void take(ReceiveOp /*op*/) override { report_.wake(); }

  private:
    LandingReport& report_;
};

/// Writes a stream's bytes until a write fails, and compares their number and their digest with the sender's.
class StreamLanding : public Landing {
  public:
    StreamLanding(LandingReport& report, HashAlgorithm hash, std::string name)
        : report_(report), name_(std::move(name)), hasher_(hash) {}
    ~StreamLanding() override {
        if (over_) return;
        try {
            report_.job.cut_off(name_, {ErrorCode::interrupted, "the transfer ended before the stream was complete"});
        } catch (const std::exception&) {
            // There is no memory for it, and the job reports its end as well.
        }
    }
    void take(ReceiveOp op) final {
        if (over_) return;
        if (const auto* chunk = std::get_if<Chunk>(&op)) {
            if (const auto written = write(chunk->bytes(), bytes_); !written) return fail(written.error());
            hasher_.update(chunk->bytes());
            bytes_ += chunk->bytes().size();
            last_ = *chunk;
            report_.job.edit(
                [&](Progress& progress, Outcome& outcome) { progress.bytes_done = outcome.sent_bytes = bytes_; });
            report_.wake();
        } else if (const auto* finish = std::get_if<message::Finish>(&op)) {
            const Digest digest = hasher_.finish();
            if (bytes_ != finish->data_bytes) return fail({ErrorCode::integrity, "the stream's size differs"});
            if (digest != finish->root) return fail({ErrorCode::integrity, "the stream's digest differs"});
            over_ = true;
            complete(digest);
        }
    }

  protected:
    virtual Result<void> write(std::span<const std::byte> bytes, std::uint64_t offset) = 0;
    /// Called when all bytes are written and are the ones that were sent.
    virtual void complete(const Digest& digest) = 0;
    void fail(const Error& error) {
        over_ = true;
        report_.job.cut_off(name_, error);
        report_.fatal(error);
    }
    void arrived(const Digest& digest) {
        report_.job.landed(name_, bytes_);
        report_.job.edit([&](Progress& progress, Outcome& outcome) {
            outcome.files = progress.files_done = 1;
            outcome.bytes = bytes_;
        });
        report_.confirm({{1, 0, 0, bytes_, bytes_, 0}, digest});
    }
    LandingReport& report_;
    const std::string name_;
    std::uint64_t bytes_ = 0;
    Chunk last_;  // the bytes at the end

  private:
    Hasher hasher_;
    bool over_ = false;
};

/// Writes to a descriptor that belongs to the caller. StopEvent::stop() ends the wait for the reader.
class PipeLanding final : public StreamLanding {
  public:
    PipeLanding(int fd, const message::Offer& offer, const StopEvent& stop, LandingReport& report)
        : StreamLanding(report, offer.hash, "-"), fd_(fd), stop_(stop) {
        struct stat st = {};
        if (::fstat(fd, &st) != 0) return;
        regular_ = S_ISREG(st.st_mode);
        socket_ = S_ISSOCK(st.st_mode);
        if (!S_ISFIFO(st.st_mode)) return;
        widen_pipe(fd);
        twin_ = writer_without_blocking(fd);
    }

  private:
    Result<void> write(std::span<const std::byte> bytes, std::uint64_t /*offset*/) override {
        const bool at_once = regular_ || socket_ || twin_;
        bool wait = !at_once;
        while (!bytes.empty()) {
            if (wait && !stop_.wait(fd_, POLLOUT)) return io_error("cannot write to", "-", ECANCELED);
            const ssize_t written = write_some(bytes);
            if (written < 0 && errno != EINTR && errno != EAGAIN) return io_error("cannot write to", "-", errno);
            wait = !at_once || (written < 0 && errno == EAGAIN);
            if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
        return {};
    }
    [[nodiscard]] ssize_t write_some(std::span<const std::byte> bytes) const {
        if (socket_) return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | kNoSignal);
        if (twin_) return ::write(twin_.get(), bytes.data(), bytes.size());
        // Any other descriptor that is ready takes PIPE_BUF bytes without blocking. More bytes might block forever,
        // where stop() has no effect.
        return ::write(fd_, bytes.data(), regular_ ? bytes.size() : std::min<std::size_t>(bytes.size(), PIPE_BUF));
    }
    void complete(const Digest& digest) override {
        // A regular file may report errors only at a sync or a close. The descriptor itself belongs to the caller.
        int failed = regular_ ? sync_data(fd_) : 0;
        if (knows_no_sync(failed)) failed = 0;
        if (UniqueFd twin(regular_ ? ::fcntl(fd_, F_DUPFD_CLOEXEC, 0) : -1); failed == 0) failed = twin.close();
        if (failed == 0 && regular_ && !holds_all()) failed = EIO;
        if (failed != 0) return fail(io_error("cannot write to", "-", failed));
        arrived(digest);
    }
    /// False if the file ends before the place of the next write: the disk lost data without an error.
    [[nodiscard]] bool holds_all() const {
        struct stat st = {};
        const off_t next = ::lseek(fd_, 0, SEEK_CUR);
        return next < 0 || (::fstat(fd_, &st) == 0 && st.st_size >= next);
    }

    int fd_;
    const StopEvent& stop_;
    bool regular_ = false;
    bool socket_ = false;
    UniqueFd twin_;  // non-blocking descriptor of the same pipe
};

class FileLanding final : public StreamLanding {
  public:
    FileLanding(const ConfinedDir& base, const message::Offer& offer, const LandingOptions& options,
                LandingReport& report)
        : StreamLanding(report, offer.hash, offer.destination.back()),
          hash_(offer.hash),
          options_(options),
          keep_existing_(agreed(offer, options).overwrite == Overwrite::never) {
        if (const auto begun = begin(base, offer.destination); !begun) fail(begun.error());
    }
    ~FileLanding() override {
        if (file_) file_->remove(*root_);
    }

  private:
    Result<void> begin(const ConfinedDir& base, std::vector<std::string> directory) {
        directory.pop_back();
        report_.job.set_place([place = join_path(directory)](const auto&, auto) { return place; });
        auto root = base.make_subdirectory(join_path(directory));
        if (!root) return root.error();
        root_ = std::move(root).value();
        mark_in_use(*root_);
        // A pipe can be read only once, so an unwanted stream is refused before that.
        const Occupant there = occupant_of(*root_, name_);
        if (there == Occupant::directory) return is_directory(name_);
        if (keep_existing_ && there != Occupant::nothing) return stays(name_);
        const BriefRights rights_to(root_->fd());
        auto created = TempFile::create(*root_, name_, random_number(), FileAttributes());
        if (!created) return created.error();
        file_ = std::move(created).value();
        return {};
    }
    Result<void> write(std::span<const std::byte> bytes, std::uint64_t offset) override {
        if (limits_room(options_)) {
            if (auto room = file_->find_room(offset + bytes.size(), options_); !room) return room;
        }
        return file_->write(offset, bytes);
    }
    void complete(const Digest& digest) override {
        std::vector<CommitOrder> orders;
        orders.push_back(file_->into_commit(0, bytes_, false));
        file_.reset();
        Hasher hasher(hash_);
        const auto end = last_.bytes();
        hasher.update(end);
        FileProof proof{.hash = hash_, .last = {bytes_ - end.size(), end.size(), hasher.finish()}, .sequence = digest};
        orders.back().proof = std::move(proof);
        orders.back().keep_existing = keep_existing_;
        const BriefRights rights_to(root_->fd());
        EntryClaims claims(*root_);
        const CommittedBatch batch = commit_batch(*root_, claims, orders, report_);
        if (batch.warning) report_.warn(*batch.warning);
        const CommitResult& result = batch.results.front();
        if (result.error) return fail(*result.error);
        if (result.state == CommitState::skipped) return fail(stays(name_));
        arrived(digest);
    }

    const HashAlgorithm hash_;
    const LandingOptions& options_;
    const bool keep_existing_;
    std::optional<ConfinedDir> root_;
    std::optional<TempFile> file_;
};

}  // namespace

std::unique_ptr<Landing> land_probe(LandingReport& report) { return std::make_unique<ProbeLanding>(report); }

std::unique_ptr<Landing> land_pipe(int fd, const message::Offer& offer, const StopEvent& stop, LandingReport& report) {
    return std::make_unique<PipeLanding>(fd, offer, stop, report);
}

std::unique_ptr<Landing> land_file(const ConfinedDir& base, const message::Offer& offer, const LandingOptions& options,
                                   LandingReport& report) {
    return std::make_unique<FileLanding>(base, offer, options, report);
}

}  // namespace udtx::transfer
