// Reads what other shards have filled of a file, to see whether another program changed it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/resume/job_file.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Offsets of the parts that are not as their shards wrote them. All are, if the file is missing. `temporary`: the path
/// of the file. `go_on` is called for each piece; false: stop. file_io: they cannot be read.
[[nodiscard]] Result<std::vector<std::uint64_t>> changed_parts(const ConfinedDir& root, const std::string& temporary,
                                                               HashAlgorithm hash,
                                                               const std::vector<JobFile::FilledPart>& parts,
                                                               const std::function<bool()>& go_on);

}  // namespace udtx::transfer
