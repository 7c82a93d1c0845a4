// udtx-sim-ablation: the scenarios of cells.hpp, each a number, with all of the default controller and without parts.
//
//     udtx-sim-ablation --seeds 3                        all of it
//     udtx-sim-ablation --without fill drain             one column for each part that is taken out
//     udtx-sim-ablation --controllers udtx bbr cubic     beside the others
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "cells.hpp"
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

std::vector<Column> columns(const Options& options) {
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

/// Processes take the tasks in turn: what a run keeps in static memory is its own.
void run_all(std::vector<Task>& tasks, const std::vector<Column>& makers, unsigned jobs) {
    std::vector<std::array<int, 2>> pipes(jobs);
    for (unsigned job = 0; job < jobs; ++job) {
        if (pipe(pipes[job].data()) != 0) throw std::runtime_error("pipe");
        const pid_t child = fork();
        if (child < 0) throw std::runtime_error("fork");
        if (child > 0) {
            close(pipes[job][1]);
            continue;
        }
        for (std::size_t i = job; i < tasks.size(); i += jobs) {
            const double result = cells()[tasks[i].cell].run(makers[tasks[i].column].maker, tasks[i].seed);
            if (write(pipes[job][1], &result, sizeof result) != sizeof result) _exit(1);
        }
        _exit(0);
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (read(pipes[i % jobs][0], &tasks[i].result, sizeof tasks[i].result) != sizeof tasks[i].result)
            throw std::runtime_error("a run of " + std::string(cells()[tasks[i].cell].name) + " failed");
    }
    for (unsigned job = 0; job < jobs; ++job) {
        close(pipes[job][0]);
        wait(nullptr);
    }
}

void print(const std::vector<Task>& tasks, const std::vector<Column>& all, const Options& options) {
    std::printf("%-16s", "");
    for (const Column& column : all) std::printf(" %20s", column.name.c_str());
    std::printf("\n");
    for (std::size_t cell = 0; cell < cells().size(); ++cell) {
        if (!chosen(options, cells()[cell].name)) continue;
        std::printf("%-16s", std::string(cells()[cell].name).c_str());
        for (std::size_t column = 0; column < all.size(); ++column) {
            std::vector<double> values;
            for (const Task& task : tasks)
                if (task.cell == cell && task.column == column) values.push_back(task.result);
            const sim::Spread s = sim::spread(values);
            std::printf("  %.3f (%.2f to %.2f)", s.median, s.least, s.most);
        }
        std::printf("  %s\n", std::string(cells()[cell].what).c_str());
    }
}

void run(const Options& options) {
    const std::vector<Column> all = columns(options);
    std::vector<Task> tasks;
    for (std::size_t cell = 0; cell < cells().size(); ++cell) {
        if (!chosen(options, cells()[cell].name)) continue;
        for (std::size_t column = 0; column < all.size(); ++column)
            for (std::uint64_t seed = 0; seed < options.seeds; ++seed)
                tasks.push_back({.cell = cell, .column = column, .seed = options.first_seed + seed});
    }
    if (tasks.empty()) throw std::runtime_error("--only names no scenario");
    run_all(tasks, all, std::max(options.jobs, 1U));
    print(tasks, all, options);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options;
        CLI::App app("What each part of the default controller is worth, in named scenarios");
        app.add_option("--controllers", options.controllers, "A column for each")->capture_default_str();
        app.add_option("--only", options.only, "Scenarios whose names begin so");
        app.add_option("--seeds", options.seeds, "Runs of each")->check(CLI::Range(1, 1000))->capture_default_str();
        app.add_option("--first-seed", options.first_seed, "The first one's seed")->capture_default_str();
        app.add_option("--jobs", options.jobs, "Processes")->check(CLI::Range(1, 256))->capture_default_str();
        CLI11_PARSE(app, argc, argv);
        run(options);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "udtx-sim-ablation: %s\n", e.what());
        return 1;
    }
}
