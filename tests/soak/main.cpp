// Episodes drawn from seeds, in virtual time, until so many virtual hours are over (docs/testing.md).
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
#include "soak/memory.hpp"
#include "soak/options.hpp"
#include "soak/plan.hpp"
#include "soak/tally.hpp"

namespace udtx::soak {
namespace {

/// Real seconds after which an episode counts as one that does not end.
constexpr unsigned kMostRealSeconds = 900;
/// What the resident memory of a process may grow by after its first episodes.
constexpr double kFlat = 24e6;
constexpr unsigned kEnoughFailures = 5;

std::string failure_text(const Plan& plan, const Outcome& outcome) {
    std::string out = "soak: seed " + std::to_string(plan.seed) + " FAILED (./dev soak --seed " +
                      std::to_string(plan.seed) + " runs it again)\n";
    for (const std::string& violation : outcome.violations) out += "  " + violation + "\n";
    return out;
}

int replay(std::uint64_t seed) {
    const Plan plan = draw_plan(seed);
    const Outcome outcome = run(plan);
    std::fputs(outcome.history.c_str(), stdout);
    Tally tally;
    tally.add(plan, outcome);
    std::fputs(tally.summary(0.0).c_str(), stdout);
    if (!outcome.violations.empty()) std::fputs(failure_text(plan, outcome).c_str(), stdout);
    return outcome.violations.empty() ? 0 : 1;
}

/// Every `jobs`th seed, for its share of the hours.
int work(const Options& options, unsigned number) {
    Tally tally;
    const double share = *options.hours * 3600.0 / options.jobs;
    std::uint64_t seed = options.seed + number;
    while (tally.get("virtual_seconds") < share && tally.get("failed") < kEnoughFailures) {
        std::printf("BEGIN %u %llu\n", number, static_cast<unsigned long long>(seed));
        std::fflush(stdout);
        ::alarm(kMostRealSeconds);
        const Plan plan = draw_plan(seed);
        {
            const Outcome outcome = run(plan);
            tally.add(plan, outcome);
            if (!outcome.violations.empty()) std::fputs(failure_text(plan, outcome).c_str(), stdout);
        }
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

/// Takes what a worker says; true when all was well.
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

int run_all(const Options& options) {
    const auto begun = std::chrono::steady_clock::now();
    std::vector<Worker> workers;
    for (unsigned i = 0; i < options.jobs; ++i) workers.push_back(start(options, i));
    Tally tally;
    bool well = true;
    for (const Worker& worker : workers) well = listen_to(worker, tally) && well;
    const std::chrono::duration<double> real = std::chrono::steady_clock::now() - begun;
    std::fputs(tally.summary(real.count()).c_str(), stdout);
    return well ? 0 : 1;
}

}  // namespace
}  // namespace udtx::soak

int main(int argc, char** argv) {
    using namespace udtx::soak;
    std::string error;
    const auto options = parse_options(argc, argv, error);
    if (!options) {
        std::fprintf(stderr, "udtx-soak: %s\n", error.c_str());
        return 2;
    }
    return options->hours ? run_all(*options) : replay(options->seed);
}
