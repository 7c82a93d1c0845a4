// How the jobs that several shards move are shown.
#pragma once

#include <string>
#include <vector>

#include "common/json_writer.hpp"
#include "observe/observer.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::apps {

/// Each job once, as its shards among these transfers know it.
[[nodiscard]] std::vector<transfer::JobProgress> jobs_of(const std::vector<Observation>& transfers);
/// 16 hexadecimal digits, as in the names of its files.
[[nodiscard]] std::string job_name(const transfer::JobProgress& job);
/// "job 00a1...: 3 of 8 shards done, 5 running, 45 % of 1.20 GB, 95.0 Mbit/s, slowest 6/8"
[[nodiscard]] std::string job_line(const transfer::JobProgress& job);
/// An object.
void write_job(JsonWriter& json, const transfer::JobProgress& job);

}  // namespace udtx::apps
