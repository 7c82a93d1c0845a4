#include "transfer/landing/disk_links.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "transfer/file/file_io.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

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

}  // namespace

LinkErrors DiskLinks::in(int directory) {
    struct stat st = {};
    if (::fstat(directory, &st) != 0) return {};
    const auto known = known_.find(st.st_dev);
    if (known != known_.end()) return known->second;
    return known_[st.st_dev] = try_links(directory, st);
}

}  // namespace udtx::transfer
