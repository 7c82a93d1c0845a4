#include "transfer/landing/waiting_links.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kTailBytes = 64U << 10U;
constexpr std::size_t kNodeBytes = 32;  // overhead of the container and of two strings on the heap

/// What a record begins with. Only this process reads it.
struct Head {
    std::uint64_t index = 0;
    std::uint32_t path = 0;
    std::uint32_t target = 0;
};

std::span<const std::byte> bytes_in(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

std::size_t WaitingLinks::bytes_of(const WaitingLink& link) noexcept {
    return sizeof link + kNodeBytes + link.path.size() + link.target.size();
}

void WaitingLinks::keep(WaitingLink link) {
    bytes_ += bytes_of(link);
    in_memory_.push_back(std::move(link));
}

Result<void> WaitingLinks::push(WaitingLink link) {
    if (written_ == read_ && tail_.empty() && bytes_ + bytes_of(link) <= most_) {
        keep(std::move(link));
        return {};
    }
    const Head head{link.index, static_cast<std::uint32_t>(link.path.size()),
                    static_cast<std::uint32_t>(link.target.size())};
    const std::size_t before = tail_.size();
    tail_.append(reinterpret_cast<const char*>(&head), sizeof head);
    tail_ += link.path;
    tail_ += link.target;
    if (tail_.size() < kTailBytes) return {};
    const int error = write_tail();
    if (error == 0) return {};
    tail_.resize(before);
    return io_error("cannot write the hard links that wait, among them", link.path, error);
}

Result<WaitingLink> WaitingLinks::pop() {
    if (in_memory_.empty()) {
        if (const int error = read_some(); error != 0) {
            tail_.clear();
            close();
            return io_error("cannot read the hard links that wait in", ".", error);
        }
    }
    WaitingLink link = std::move(in_memory_.front());
    in_memory_.pop_front();
    bytes_ -= bytes_of(link);
    return link;
}

int WaitingLinks::open() {
    constexpr int kFlags = O_RDWR | O_CLOEXEC;
#ifdef O_TMPFILE
    file_.reset(open_entry(root_.fd(), ".", kFlags | O_TMPFILE, 0600));
    if (file_) return 0;
#endif
    const std::string name = temp_name(random_number());
    file_.reset(open_entry(root_.fd(), name.c_str(), kFlags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (!file_) return errno;
    return ::unlinkat(root_.fd(), name.c_str(), 0) == 0 ? 0 : errno;
}

int WaitingLinks::find_room(std::uint64_t bytes) {
    struct stat st = {};
    if (limits_.quota && ::fstat(file_.get(), &st) == 0) {
        if (!charge_) charge_ = std::make_unique<DiskQuota::Charge>(limits_.quota, st, false);
        if (!charge_->grow(bytes)) return EDQUOT;
    }
    struct statvfs system = {};
    if (limits_.min_free == 0 || ::fstatvfs(file_.get(), &system) != 0) return 0;
    return system.f_bavail * system.f_frsize < limits_.min_free ? ENOSPC : 0;
}

void WaitingLinks::close() {
    if (charge_) charge_->settle(0);
    charge_.reset();
    file_.reset();
    read_ = written_ = 0;
}

int WaitingLinks::write_tail() {
    if (!file_) {
        if (const int error = open(); error != 0) return error;
    }
    if (const int error = find_room(written_ + tail_.size()); error != 0) return error;
    if (const int error = write_all_at(file_.get(), bytes_in(tail_), written_); error != 0) return error;
    written_ += tail_.size();
    tail_.clear();
    return 0;
}

int WaitingLinks::read_some() {
    // What is not in the file yet is read from memory, so the end of a transfer needs no space on the disk.
    std::string block;
    const std::uint64_t left = written_ - read_;
    if (left == 0) {
        block = std::exchange(tail_, {});
    } else {
        block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, std::max(most_, kTailBytes))));
        std::size_t count = 0;
        const auto room = std::as_writable_bytes(std::span(block));
        if (const int error = read_all_at(file_.get(), room, read_, count); error != 0) return error;
        if (count < block.size()) return EIO;
    }
    std::size_t at = 0;
    while (block.size() - at >= sizeof(Head)) {
        Head head;
        std::memcpy(&head, block.data() + at, sizeof head);
        const std::size_t end = at + sizeof head + head.path + head.target;
        if (end > block.size()) break;
        keep({head.index, block.substr(at + sizeof head, head.path),
              block.substr(at + sizeof head + head.path, head.target)});
        at = end;
    }
    if (in_memory_.empty()) return EIO;
    if (left > 0) read_ += at;
    if (read_ == written_) close();
    return 0;
}

}  // namespace udtx::transfer
