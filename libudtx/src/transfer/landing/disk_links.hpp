// Finds out, for a dry run, whether a file system has hard and symbolic links.
#pragma once

#include <sys/types.h>

#include <map>

namespace udtx::transfer {

/// The errors that making a link meets; 0: it works, or this is unknown.
struct LinkErrors {
    int hard = 0;
    int symbolic = 0;
};

class DiskLinks {
  public:
    /// On a file system without unnamed files, it makes links under temporary names and removes them. The directory
    /// keeps its time.
    [[nodiscard]] LinkErrors in(int directory);

  private:
    std::map<dev_t, LinkErrors> known_;
};

}  // namespace udtx::transfer
