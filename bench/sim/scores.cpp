// udtx-sim-scores: runs the scenarios of cells.hpp. Prints one number per scenario, with a column per controller.
//
//     udtx-sim-scores --seeds 3 --controllers udtx bbr cubic
//     udtx-sim-scores --only loss jitter-10
//     udtx-sim-scores --ablation
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "cells.hpp"
#include "congestion/udtx/udtx.hpp"
#include "sim/flows.hpp"

namespace {

using namespace udtx;
using namespace udtx::bench;

struct Options {
    std::vector<std::string> controllers{"udtx"};
    std::vector<std::string> only;
    std::uint64_t seeds = 3;
    std::uint64_t first_seed = 1;
    unsigned jobs = 2;
    bool ablation = false;
};

struct Column {
    std::string name;
    Maker maker;
};

struct Task {
    std::size_t cell = 0;
    std::size_t column = 0;
    std::uint64_t seed = 0;
    double result = 0.0;
};

/// Columns for udtx and for udtx without each of its parts.
std::vector<Column> ablation() {
    using congestion::kUdtxParts;
    std::vector<Column> out;
    const auto add = [&](std::string_view name, congestion::UdtxParts parts) {
        out.push_back({std::string(name), [parts](const CongestionOptions& with) {
                           return std::make_unique<congestion::Udtx>(with, parts);
                       }});
    };
    add("udtx", {});
    for (std::size_t part = 0; part < kUdtxParts.size(); ++part)
        add(kUdtxParts[part], congestion::UdtxParts{}.without(static_cast<congestion::UdtxPart>(part)));
    return out;
}

std::vector<Column> columns(const Options& options) {
    if (options.ablation) return ablation();
    std::vector<Column> out;
    for (const std::string& name : options.controllers) {
        if (const auto made = make_congestion_controller(name, {}); !made)
            throw std::runtime_error(made.error().message);
        out.push_back(
            {name, [name](const CongestionOptions& with) { return make_congestion_controller(name, with).value(); }});
    }
    return out;
}

bool chosen(const Options& options, std::string_view cell) {
    return options.only.empty() ||
           std::ranges::any_of(options.only, [&](const std::string& name) { return cell.starts_with(name); });
}

/// Throws if a name of --only matches no scenario, even if other names match.
void check_names(const Options& options) {
    for (const std::string& name : options.only) {
        if (std::ranges::none_of(cells(), [&](const Cell& cell) { return cell.name.starts_with(name); }))
            throw std::runtime_error("--only: no scenario's name begins with '" + name + "' (--list names them)");
    }
}

/// Runs in the child process. It does every jobs-th task, starting with number `job`, and writes the results to `out`.
[[noreturn]] void work(const std::vector<Task>& tasks, const std::vector<Column>& columns, unsigned job, unsigned jobs,
                       int out) {
    for (std::size_t i = job; i < tasks.size(); i += jobs) {
        const double result = cells()[tasks[i].cell].run(columns[tasks[i].column].maker, tasks[i].seed);
        if (write(out, &result, sizeof result) != sizeof result) _exit(1);
    }
    _exit(0);
}

/// Distributes the tasks over child processes, so that runs in different processes share no static memory. If a child
/// dies, its pipe closes and read() fails.
void run_all(std::vector<Task>& tasks, const std::vector<Column>& columns, unsigned jobs) {
    std::vector<int> results;
    for (unsigned job = 0; job < jobs; ++job) {
        std::array<int, 2> ends{};
        if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
        const pid_t child = fork();
        if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (child == 0) work(tasks, columns, job, jobs, ends[1]);
        close(ends[1]);
        results.push_back(ends[0]);
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (read(results[i % jobs], &tasks[i].result, sizeof tasks[i].result) != sizeof tasks[i].result)
            throw std::runtime_error("a run of " + std::string(cells()[tasks[i].cell].name) + " failed");
    }
    for (const int result : results) {
        close(result);
        wait(nullptr);
    }
}

double median(const std::vector<Task>& tasks, std::size_t cell, std::size_t column) {
    std::vector<double> values;
    for (const Task& task : tasks)
        if (task.cell == cell && task.column == column) values.push_back(task.result);
    return sim::spread(values).median;
}

/// Prints how much the scenarios' medians change without each part: the sum, and each change of at least kTold.
void print_ablation(const std::vector<Task>& tasks, const std::vector<Column>& all, const Options& options) {
    constexpr double kTold = 0.015;
    for (std::size_t column = 1; column < all.size(); ++column) {
        double sum = 0.0;
        std::string told;
        for (std::size_t cell = 0; cell < cells().size(); ++cell) {
            if (!chosen(options, cells()[cell].name)) continue;
            const double change = median(tasks, cell, column) - median(tasks, cell, 0);
            sum += change;
            if (std::abs(change) < kTold) continue;
            std::array<char, 64> text{};
            std::snprintf(text.data(), text.size(), " %+.2f", change);
            told += (told.empty() ? "" : ", ") + std::string(cells()[cell].name) + text.data();
        }
        std::printf("| %s | %+.2f | %s |\n", all[column].name.c_str(), sum, told.c_str());
    }
}

void print(const std::vector<Task>& tasks, const std::vector<Column>& all, const Options& options) {
    std::printf("%-16s", "");
    for (const Column& column : all) std::printf("  %-22s", column.name.c_str());
    std::printf("\n");
    for (std::size_t cell = 0; cell < cells().size(); ++cell) {
        if (!chosen(options, cells()[cell].name)) continue;
        std::printf("%-16s", std::string(cells()[cell].name).c_str());
        for (std::size_t column = 0; column < all.size(); ++column) {
            std::vector<double> values;
            for (const Task& task : tasks)
                if (task.cell == cell && task.column == column) values.push_back(task.result);
            const sim::Spread s = sim::spread(values);
            std::printf("  %5.3f (%4.2f to %4.2f)  ", s.median, s.least, s.most);
        }
        std::printf("  %s\n", std::string(cells()[cell].what).c_str());
    }
}

void run(const Options& options) {
    check_names(options);
    const std::vector<Column> all = columns(options);
    std::vector<Task> tasks;
    for (std::size_t cell = 0; cell < cells().size(); ++cell) {
        if (!chosen(options, cells()[cell].name)) continue;
        for (std::size_t column = 0; column < all.size(); ++column)
            for (std::uint64_t seed = 0; seed < options.seeds; ++seed)
                tasks.push_back({.cell = cell, .column = column, .seed = options.first_seed + seed});
    }
    run_all(tasks, all, options.jobs);
    if (options.ablation) return print_ablation(tasks, all, options);
    print(tasks, all, options);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options;
        CLI::App app(
            "What controllers give in named scenarios, in virtual time: the median of some seeds, least and most");
        app.add_option("--controllers", options.controllers, "A column for each")->capture_default_str();
        app.add_flag("--ablation", options.ablation, "What changes without each part of udtx: a Markdown table");
        app.add_option("--only", options.only, "Only scenarios whose names start with this");
        app.add_option("--seeds", options.seeds, "Number of runs of each scenario")
            ->check(CLI::Range(1, 1000))
            ->capture_default_str();
        app.add_option("--first-seed", options.first_seed, "Seed of the first run")->capture_default_str();
        app.add_option("--jobs", options.jobs, "Processes at a time")->check(CLI::Range(1, 256))->capture_default_str();
        app.add_flag_callback(
            "--list",
            [] {
                for (const Cell& cell : cells())
                    std::printf("%-16s  %s\n", std::string(cell.name).c_str(), std::string(cell.what).c_str());
                throw CLI::Success();
            },
            "Name the scenarios, and end");
        CLI11_PARSE(app, argc, argv);
        run(options);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "udtx-sim-scores: %s\n", e.what());
        return 1;
    }
}
