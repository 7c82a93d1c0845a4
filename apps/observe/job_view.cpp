#include "observe/job_view.hpp"

#include <algorithm>
#include <cstdint>

#include "common/json_writer.hpp"
#include "common/text.hpp"
#include "common/units.hpp"

namespace udtx::apps {

std::vector<transfer::JobProgress> jobs_of(const std::vector<Observation>& transfers) {
    std::vector<transfer::JobProgress> jobs;
    for (const Observation& seen : transfers) {
        const auto& job = seen.progress.job;
        if (!job) continue;
        const auto same = [&](const transfer::JobProgress& other) { return other.job == job->job; };
        if (std::ranges::none_of(jobs, same)) jobs.push_back(*job);
    }
    return jobs;
}

std::string job_name(const transfer::JobProgress& job) { return to_hex(job.job); }

std::string job_line(const transfer::JobProgress& job) {
    std::string text = "job " + job_name(job) + ": " + format_count(job.done) + " of " + format_count(job.count) +
                       (job.count == 1 ? " shard done" : " shards done");
    if (job.running > 0) text += ", " + format_count(job.running) + " running";
    if (job.failed > 0) text += ", " + format_count(job.failed) + " failed or silent";
    text += ", " + format_count(job.files_done) + " files and parts, ";
    if (job.done == job.count) {
        text += format_bytes(job.bytes_done);
    } else {
        const std::uint64_t total = std::max(job.bytes_total, job.bytes_done);
        if (total > 0)
            text += std::to_string(100 * (job.bytes_done / 1000) / std::max<std::uint64_t>(total / 1000, 1)) + " % of ";
        text += format_bytes(total) + " found";
    }
    if (job.running > 0) {
        text += ", " + format_rate(Rate::bits_per_second(static_cast<double>(job.bits_per_second)));
        text += ", slowest " + std::to_string(job.slowest) + "/" + std::to_string(job.count);
    }
    if (job.failures > 0) text += ", " + format_count(job.failures) + " entries failed";
    return text;
}

void write_job(JsonWriter& json, const transfer::JobProgress& job) {
    json.begin_object();
    json.key("name").string(job_name(job));
    json.key("shard").number(std::uint64_t{job.index});
    json.key("shards").number(std::uint64_t{job.count});
    json.key("running").number(std::uint64_t{job.running});
    json.key("done").number(std::uint64_t{job.done});
    json.key("failed").number(std::uint64_t{job.failed});
    json.key("bytes_done").number(job.bytes_done);
    json.key("bytes_total").number(std::max(job.bytes_total, job.bytes_done));
    json.key("files_done").number(job.files_done);
    json.key("failures").number(job.failures);
    json.key("rate_bps").number(job.bits_per_second);
    json.key("slowest").number(std::uint64_t{job.slowest});
    json.end_object();
}

}  // namespace udtx::apps
