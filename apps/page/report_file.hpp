// The file of --report, written at the end of the run.
#pragma once

#include <string>
#include <string_view>

#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class ReportFile {
  public:
    /// Tests at the start whether the file can be written; file_io if not. An earlier report stays until the new one
    /// replaces it. Call it before the process gives up the right to create files.
    static Result<ReportFile> open(const std::string& path);

    /// Creates the file again if it was removed meanwhile.
    [[nodiscard]] Result<void> write(std::string_view text) const;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    ReportFile(std::string path, UniqueFd spare);

    std::string path_;
    UniqueFd spare_;  // a file without a name; empty if the file system does not support that
};

}  // namespace udtx::apps
