// Runs episodes drawn from seeds until this number of virtual hours is over (docs/inside/testing.md).
//
//     udtx-soak --hours H [--seed FIRST] [--jobs N]
//     udtx-soak --seed N
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "soak/episode.hpp"
#include "soak/files_episode.hpp"
#include "soak/memory.hpp"
#include "soak/options.hpp"
#include "soak/plan.hpp"
#include "soak/tally.hpp"
#include "test/fault_case.hpp"

namespace udtx::soak {
namespace {

/// Real seconds; an episode that takes longer counts as one that does not end.
constexpr unsigned kMostRealSeconds = 900;
/// The resident memory of a process may grow by this number of bytes after its first episodes.
constexpr double kFlat = 24e6;
constexpr unsigned kEnoughFailures = 5;

std::string failure_text(std::uint64_t seed, const std::vector<std::string>& violations) {
    if (violations.empty()) return {};
    const std::string number = std::to_string(seed);
    std::string out = "soak: seed " + number + " FAILED (./dev soak --seed " + number + " runs it again)\n";
    for (const std::string& violation : violations) out += "  " + violation + "\n";
    return out;
}

/// Runs the episode of a seed and prints the violations; with `tell` also its history.
void run_seed(std::uint64_t seed, Tally& tally, bool tell) {
    const auto end = [&](const auto& outcome) {
        if (tell) std::fputs(outcome.history.c_str(), stdout);
        std::fputs(failure_text(seed, outcome.violations).c_str(), stdout);
    };
    if (seed % kFilesEvery == 0) {
        const FilesOutcome outcome = run_files(seed);
        tally.add(outcome);
        end(outcome);
        return;
    }
    const Plan plan = draw_plan(seed);
    const Outcome outcome = run(plan);
    tally.add(plan, outcome);
    end(outcome);
}

int replay(std::uint64_t seed) {
    Tally tally;
    run_seed(seed, tally, true);
    std::fputs(tally.summary(0.0).c_str(), stdout);
    return tally.get("failed") > 0.0 ? 1 : 0;
}

/// Runs every `jobs`th seed until this process has done its share of the hours.
int work(const Options& options, unsigned number) {
    Tally tally;
    const double share = *options.hours * 3600.0 / options.jobs;
    std::uint64_t seed = options.seed + number;
    while (tally.get("virtual_seconds") < share && tally.get("failed") < kEnoughFailures) {
        std::printf("BEGIN %u %llu\n", number, static_cast<unsigned long long>(seed));
        std::fflush(stdout);
        ::alarm(kMostRealSeconds);
        run_seed(seed, tally, false);
        tally.memory(resident());
        seed += options.jobs;
    }
    ::alarm(0);
    const double first = tally.get("most_resident_first");
    if (heap_in_use() > 0 && first > 0.0 && tally.get("most_resident_last") > first + kFlat) {
        std::printf("soak: the resident memory grew from %.1f to %.1f MB\n", first / 1e6,
                    tally.get("most_resident_last") / 1e6);
        tally.take("failed", 1);
    }
    std::fputs(tally.lines().c_str(), stdout);
    std::fflush(stdout);
    return tally.get("failed") > 0.0 ? 1 : 0;
}

struct Worker {
    pid_t pid = -1;
    std::FILE* output = nullptr;
};

Worker start(const Options& options, unsigned number) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        std::perror("udtx-soak: pipe");
        std::exit(2);
    }
    const pid_t pid = ::fork();
    if (pid < 0) {
        std::perror("udtx-soak: fork");
        std::exit(2);
    }
    if (pid == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        const int code = work(options, number);
        std::fflush(nullptr);
        ::_exit(code);
    }
    ::close(ends[1]);
    return {pid, ::fdopen(ends[0], "r")};
}

/// Reads a worker's output; true if it found no failure.
bool listen_to(const Worker& worker, Tally& tally) {
    std::array<char, 4096> line{};
    std::string seed = "none";
    while (std::fgets(line.data(), line.size(), worker.output) != nullptr) {
        char name[64];
        double value = 0.0;
        unsigned number = 0;
        unsigned long long begun = 0;
        if (std::sscanf(line.data(), "FIGURE %63s %lf", name, &value) == 2) {
            tally.take(name, value);
        } else if (std::sscanf(line.data(), "BEGIN %u %llu", &number, &begun) == 2) {
            seed = std::to_string(begun);
        } else {
            std::fputs(line.data(), stdout);
            std::fflush(stdout);
        }
    }
    std::fclose(worker.output);
    int status = 0;
    ::waitpid(worker.pid, &status, 0);
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        std::printf("soak: seed %s FAILED: %s (./dev soak --seed %s runs it again)\n", seed.c_str(),
                    signal == SIGALRM ? "it does not end" : ::strsignal(signal), seed.c_str());
    } else if (WEXITSTATUS(status) > 1) {
        std::printf("soak: seed %s FAILED: exit status %d\n", seed.c_str(), WEXITSTATUS(status));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Prints the cases of the fault matrix that a run without a failure has covered.
void tell_cases(const Tally& tally) {
    const auto count = [&](const char* name, const char* what) {
        char text[160];
        std::snprintf(text, sizeof text, "%.0f %s", tally.get(name), what);
        return std::string(text);
    };
    // In the short form, cases: F42, F68, F71, F72.
    const auto tried = [&](int number, const char* name, const char* bound, const char* what) {
        if (tally.get(name) > 0.0) test::fault_case(number, bound, count(name, what));
    };
    const char* moves = "everything arrives once and unchanged, and bytes move while a link works";
    tried(42, "slow_readers", "each end stores at most its windows, and everything arrives", "streams read slowly");
    tried(68, "loss_50", moves, "episodes with 50 % loss both ways or 75 % one way");
    tried(69, "bursts_1000", moves, "episodes with bursts of 1000 packets");
    tried(71, "duplicates_20", moves, "episodes with 20 % duplicates or 2 % corruption");
    tried(72, "outages", "10 min: both ends report it; the same command completes and sends no complete file again",
          "outages");
    tried(82, "near_wrap", moves, "episodes whose packet numbers pass 2^24, 2^32 or 2^48");
    constexpr double kSoak = 72.0 * 3600.0;
    if (tally.get("virtual_seconds") < kSoak || tally.get("most_resident_first") <= 0.0) return;
    char figure[160];
    std::snprintf(figure, sizeof figure, "%.0f virtual hours, %.0f episodes, %.1f to %.1f MB",
                  tally.get("virtual_seconds") / 3600.0, tally.get("episodes"), tally.get("most_resident_first") / 1e6,
                  tally.get("most_resident_last") / 1e6);
    constexpr int kFlatMemory = 81;  // the long form only
    test::fault_case(kFlatMemory, "resident memory of a process grows by at most 24 MB", figure);
}

int run_all(const Options& options) {
    const auto begun = std::chrono::steady_clock::now();
    std::vector<Worker> workers;
    for (unsigned i = 0; i < options.jobs; ++i) workers.push_back(start(options, i));
    Tally tally;
    bool well = true;
    for (const Worker& worker : workers) well = listen_to(worker, tally) && well;
    const std::chrono::duration<double> real = std::chrono::steady_clock::now() - begun;
    std::fputs(tally.summary(real.count()).c_str(), stdout);
    if (well) tell_cases(tally);
    return well ? 0 : 1;
}

}  // namespace
}  // namespace udtx::soak

int main(int argc, char** argv) {
    using namespace udtx::soak;
    ::unsetenv("UDTX_SIM_SEED");  // the variable is for scenarios; an episode depends on its own seed only
    std::string error;
    const auto options = parse_options(argc, argv, error);
    if (!options) {
        std::fprintf(stderr, "udtx-soak: %s\n", error.c_str());
        return 2;
    }
    return options->hours ? run_all(*options) : replay(options->seed);
}
