// udtx-sim-scores: runs the scenarios of cells.hpp or drawn links. Prints one number for each, with a column per
// controller.
//
//     udtx-sim-scores --seeds 3 --controllers udtx bbr cubic
//     udtx-sim-scores --only loss jitter-10
//     udtx-sim-scores --ablation
//     udtx-sim-scores --drawn <(python3 bench/wan/lab/drawn.py 1 40) --controllers udtx tcp-bbr
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "cells.hpp"
#include "congestion/udtx/udtx.hpp"
#include "drawn.hpp"
#include "sim/flows.hpp"

namespace {

using namespace udtx;
using namespace udtx::bench;

struct Options {
    std::vector<std::string> controllers;
    std::vector<std::string> only;
    std::uint64_t seeds = 3;
    std::uint64_t first_seed = 1;
    unsigned jobs = 2;
    bool ablation = false;
    std::vector<std::string> without;  ///< parts of udtx, joined by commas: a column each
    std::string drawn;                 ///< file of links; empty: none
};

struct Column {
    std::string name;
    Maker maker;
};

/// A scenario or a drawn link.
struct Row {
    std::string name;
    std::string what;
    bool drawn = false;
    std::function<Figure(const Maker&, std::uint64_t seed)> run;
};

struct Task {
    std::size_t row = 0;
    std::size_t column = 0;
    std::uint64_t seed = 0;
    Figure result{};
};

/// What is run, and all results.
struct Sheet {
    std::vector<Row> rows;
    std::vector<Column> columns;
    std::vector<Task> tasks;

    [[nodiscard]] sim::Spread spread(std::size_t row, std::size_t column,
                                     double Figure::*which = &Figure::value) const {
        std::vector<double> values;
        for (const Task& task : tasks)
            if (task.row == row && task.column == column) values.push_back(task.result.*which);
        return sim::spread(values);
    }
    [[nodiscard]] double median(std::size_t row, std::size_t column, double Figure::*which = &Figure::value) const {
        return spread(row, column, which).median;
    }
};

congestion::UdtxParts without(const std::string& names) {
    using congestion::kUdtxParts;
    congestion::UdtxParts parts;
    std::istringstream in(names);
    for (std::string name; std::getline(in, name, ',');) {
        const auto* const found = std::ranges::find(kUdtxParts, name);
        if (found == kUdtxParts.end()) throw std::runtime_error("--without: udtx has no part '" + name + "'");
        parts = parts.without(static_cast<congestion::UdtxPart>(found - kUdtxParts.begin()));
    }
    return parts;
}

Column udtx_without(const std::string& names) {
    return {names, [parts = without(names)](const CongestionOptions& with) {
                return std::make_unique<congestion::Udtx>(with, parts);
            }};
}

std::vector<Column> columns(const Options& options) {
    std::vector<Column> out;
    for (const std::string& name : options.controllers) {
        if (name == sim::kTcpBbr) {
            out.push_back({name, nullptr});
            continue;
        }
        if (const auto made = make_congestion_controller(name, {}); !made)
            throw std::runtime_error(made.error().message);
        out.push_back(
            {name, [name](const CongestionOptions& with) { return make_congestion_controller(name, with).value(); }});
    }
    for (const std::string& names : options.without) out.push_back(udtx_without(names));
    return out;
}

/// Throws if a name of --only matches no scenario, even if other names match.
void check_names(const Options& options) {
    for (const std::string& name : options.only) {
        if (std::ranges::none_of(cells(), [&](const Cell& cell) { return cell.name.starts_with(name); }))
            throw std::runtime_error("--only: no scenario's name begins with '" + name + "' (--list names them)");
    }
}

/// The scenarios, unless only drawn links are asked for, and the drawn links.
std::vector<Row> rows(const Options& options) {
    check_names(options);
    std::vector<Row> out;
    for (const Cell& cell : cells()) {
        const bool chosen =
            options.only.empty()
                ? options.drawn.empty() || options.ablation
                : std::ranges::any_of(options.only, [&](const auto& n) { return cell.name.starts_with(n); });
        if (!chosen) continue;
        out.push_back({.name = std::string(cell.name),
                       .what = std::string(cell.what),
                       .run = [&cell](const Maker& maker, std::uint64_t seed) {
                           return Figure{.value = cell.run(maker, seed)};
                       }});
    }
    if (options.drawn.empty()) return out;
    for (const DrawnLine& line : read_lines(options.drawn)) {
        out.push_back(
            {.name = line.name(), .what = {}, .drawn = true, .run = [line](const Maker& maker, std::uint64_t seed) {
                 return run_line(line, maker, seed);
             }});
    }
    return out;
}

/// Runs in the child process. It does every jobs-th task, starting with number `job`, and writes the results to `out`.
[[noreturn]] void work(const Sheet& sheet, unsigned job, unsigned jobs, int out) {
    for (std::size_t i = job; i < sheet.tasks.size(); i += jobs) {
        const Task& task = sheet.tasks[i];
        const Figure result = sheet.rows[task.row].run(sheet.columns[task.column].maker, task.seed);
        if (write(out, &result, sizeof result) != sizeof result) _exit(1);
    }
    _exit(0);
}

/// Distributes the tasks over child processes, so that runs in different processes share no static memory. If a child
/// dies, its pipe closes and read() fails.
void run_all(Sheet& sheet, unsigned jobs) {
    jobs = std::max(jobs, 1U);
    std::vector<int> results;
    for (unsigned job = 0; job < jobs; ++job) {
        std::array<int, 2> ends{};
        if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
        const pid_t child = fork();
        if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (child == 0) work(sheet, job, jobs, ends[1]);
        close(ends[1]);
        results.push_back(ends[0]);
    }
    for (std::size_t i = 0; i < sheet.tasks.size(); ++i) {
        Task& task = sheet.tasks[i];
        if (read(results[i % jobs], &task.result, sizeof task.result) != sizeof task.result)
            throw std::runtime_error("a run of " + sheet.rows[task.row].name + " failed");
    }
    for (const int result : results) {
        close(result);
        wait(nullptr);
    }
}

/// Prints how much the medians change without each part: the sums over scenarios and drawn links, and each change of at
/// least kTold.
void print_ablation(const Sheet& sheet) {
    constexpr double kTold = 0.015;
    std::printf("| without | sum over scenarios | over drawn links | where it shows |\n| --- | --- | --- | --- |\n");
    for (std::size_t column = 1; column < sheet.columns.size(); ++column) {
        double scenarios = 0.0;
        double drawn = 0.0;
        std::string told;
        for (std::size_t row = 0; row < sheet.rows.size(); ++row) {
            const double change = sheet.median(row, column) - sheet.median(row, 0);
            (sheet.rows[row].drawn ? drawn : scenarios) += change;
            if (std::abs(change) < kTold) continue;
            std::array<char, 64> text{};
            std::snprintf(text.data(), text.size(), " %+.2f", change);
            told += (told.empty() ? "" : "; ") + sheet.rows[row].name + text.data();
        }
        std::printf("| %s | %+.2f | %+.2f | %s |\n", sheet.columns[column].name.c_str(), scenarios, drawn,
                    told.c_str());
    }
}

void print_scenarios(const Sheet& sheet) {
    if (std::ranges::all_of(sheet.rows, &Row::drawn)) return;
    std::printf("%-18s", "");
    for (const Column& column : sheet.columns) std::printf("  %-22s", column.name.c_str());
    std::printf("\n");
    for (std::size_t row = 0; row < sheet.rows.size(); ++row) {
        if (sheet.rows[row].drawn) continue;
        std::printf("%-18s", sheet.rows[row].name.c_str());
        for (std::size_t column = 0; column < sheet.columns.size(); ++column) {
            const sim::Spread s = sheet.spread(row, column);
            std::printf("  %5.3f (%4.2f to %4.2f)  ", s.median, s.least, s.most);
        }
        std::printf("  %s\n", sheet.rows[row].what.c_str());
    }
}

/// Prints for each drawn link its share, its queue and what that dropped. Then prints for each controller the mean and
/// the least share, the mean queue, the mean and the most that was dropped, and on how many links the first controller
/// is ahead of it, within 2 %, or behind.
void print_drawn(const Sheet& sheet) {
    if (std::ranges::none_of(sheet.rows, &Row::drawn)) return;
    constexpr double kLevel = 0.02;
    const std::size_t columns = sheet.columns.size();
    std::printf("%-32s", "Mbit/s, ms, loss %, BDP, jitter");
    for (const Column& column : sheet.columns) std::printf("  %-31s", (column.name + ", queue ms, dropped %").c_str());
    std::printf("\n");
    std::vector<double> least(columns, 1e9);
    std::vector<double> sums(columns);
    std::vector<double> queues(columns);
    std::vector<double> drops(columns);
    std::vector<double> most_dropped(columns);
    std::vector<std::array<int, 3>> against(columns);
    double lines = 0.0;
    for (std::size_t row = 0; row < sheet.rows.size(); ++row) {
        if (!sheet.rows[row].drawn) continue;
        lines += 1.0;
        std::printf("%-32s", sheet.rows[row].name.c_str());
        const double first = sheet.median(row, 0);
        for (std::size_t column = 0; column < columns; ++column) {
            const sim::Spread s = sheet.spread(row, column);
            const double queue = sheet.median(row, column, &Figure::queue_ms);
            const double dropped = sheet.median(row, column, &Figure::dropped) * 1e2;
            std::printf("  %5.3f (%4.2f-%4.2f) %6.1f %6.1f  ", s.median, s.least, s.most, queue, dropped);
            sums[column] += s.median;
            queues[column] += queue;
            drops[column] += dropped;
            most_dropped[column] = std::max(most_dropped[column], dropped);
            least[column] = std::min(least[column], s.median);
            const double ratio = first / std::max(s.median, 1e-9);
            ++against[column].at(ratio > 1.0 + kLevel ? 0 : ratio >= 1.0 - kLevel ? 1 : 2);
        }
        std::printf("\n");
    }
    std::printf("%.0f links\n", lines);
    for (std::size_t column = 0; column < columns; ++column) {
        std::printf("%-12s mean %.3f, least %.3f, queue %.1f ms, dropped %.1f %%, at most %.1f %%",
                    sheet.columns[column].name.c_str(), sums[column] / lines, least[column], queues[column] / lines,
                    drops[column] / lines, most_dropped[column]);
        if (column > 0)
            std::printf("; %s is ahead on %d, within 2 %% on %d, behind on %d", sheet.columns[0].name.c_str(),
                        against[column][0], against[column][1], against[column][2]);
        std::printf("\n");
    }
}

void run(Options options) {
    if (options.ablation) options.controllers = {"udtx"};
    if (options.ablation && options.without.empty())
        options.without.assign(congestion::kUdtxParts.begin(), congestion::kUdtxParts.end());
    if (options.controllers.empty()) {
        options.controllers = {"udtx"};
        if (!options.drawn.empty())
            options.controllers.insert(options.controllers.end(), {sim::kTcpBbr, "bbr", "cubic"});
    }
    Sheet sheet{.rows = rows(options), .columns = columns(options), .tasks = {}};
    for (std::size_t row = 0; row < sheet.rows.size(); ++row) {
        for (std::size_t column = 0; column < sheet.columns.size(); ++column) {
            for (std::uint64_t seed = 0; seed < options.seeds; ++seed)
                sheet.tasks.push_back({.row = row, .column = column, .seed = options.first_seed + seed});
        }
    }
    run_all(sheet, options.jobs);
    if (options.ablation) return print_ablation(sheet);
    print_scenarios(sheet);
    print_drawn(sheet);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options;
        CLI::App app(
            "What controllers give in named scenarios, in virtual time: the median of some seeds, least and most");
        app.add_option("--controllers", options.controllers,
                       "A column for each (default: udtx; with --drawn: udtx tcp-bbr bbr cubic)");
        app.add_flag("--ablation", options.ablation,
                     "What changes without each part of udtx, or each set of --without: a Markdown table");
        app.add_option("--without", options.without, "A column for each: udtx without these parts, joined by commas");
        app.add_option("--drawn", options.drawn,
                       "Links of this file, one a line: Mbit/s, RTT ms, loss %, queue BDP, jitter ms")
            ->check(CLI::ExistingPath);
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
                    std::printf("%-18s  %s\n", std::string(cell.name).c_str(), std::string(cell.what).c_str());
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
