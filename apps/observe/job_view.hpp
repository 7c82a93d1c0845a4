// Formats the progress of jobs that several shards share.
#pragma once

#include <string>
#include <vector>

#include "common/json_writer.hpp"
#include "observe/observer.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::apps {

/// Each job once, combined from the shards among these transfers.
[[nodiscard]] std::vector<transfer::JobProgress> jobs_of(const std::vector<Observation>& transfers);
/// 16 hexadecimal digits, as in the names of the job's files.
[[nodiscard]] std::string job_name(const transfer::JobProgress& job);
/// "job 00a1...: 3 of 8 shards done, 5 running, 45 % of 1.20 GB, 95.0 Mbit/s, slowest 6/8"
[[nodiscard]] std::string job_line(const transfer::JobProgress& job);
/// Writes the job as an object.
void write_job(JsonWriter& json, const transfer::JobProgress& job);

}  // namespace udtx::apps
