// The file of --report, which is written when all is over.
#pragma once

#include <string>
#include <string_view>

#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class ReportFile {
  public:
    /// Better now than after a night of copying: file_io where it could not be written. An earlier report stays until
    /// there is one to take its place. Before a process gives up the right to make files.
    static Result<ReportFile> open(const std::string& path);

    /// Makes the file where it has been removed since.
    [[nodiscard]] Result<void> write(std::string_view text) const;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    ReportFile(std::string path, UniqueFd spare);

    std::string path_;
    UniqueFd spare_;  // has no name yet; none where the file system has no such files
};

}  // namespace udtx::apps
