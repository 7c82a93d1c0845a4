// udtx-papers-paths: runs one cell of the multipath papers and prints its results as one JSON object. With --out it
// also writes the samples as a CSV file. multipath_cells.py lists the cells of each figure.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "paths/cell.hpp"
#include "paths/experiment.hpp"
#include "paths/report.hpp"

namespace {

using namespace udtx::papers::paths;

/// Adds a repeatable option. Each value has the form "name=value,...".
template <class T>
void add_list(CLI::App& app, const std::string& name, std::vector<T>& to, T (*parse)(std::string_view),
              const std::string& help) {
    app.add_option_function<std::vector<std::string>>(
           name,
           [&to, parse, name](const std::vector<std::string>& texts) {
               for (const std::string& text : texts) {
                   try {
                       to.push_back(parse(text));
                   } catch (const std::exception& error) {
                       throw CLI::ValidationError(name, error.what());
                   }
               }
           },
           help)
        ->expected(1, 100);
}

void add_options(CLI::App& app, Cell& cell) {
    app.add_option("--controller", cell.controller);
    app.add_option("--scheduler", cell.scheduler);
    app.add_option("--reinject", cell.reinject, "true or false");
    app.add_option("--couple", cell.couple, "false: each path's controller is alone");
    app.add_flag("--failover", cell.failover, "all paths but the first are standby");
    app.add_option("--silent-path-rule", cell.silent_path_rule, "true or false");
    app.add_option("--payload", cell.payload, "UDP payload of a full packet")->check(CLI::Range(1200, 1472));
    app.add_option("--window", cell.window, "receive buffer, packets")->check(CLI::PositiveNumber);
    app.add_option("--seconds", cell.seconds)->check(CLI::PositiveNumber);
    app.add_option("--seed", cell.seed);
    add_list(app, "--line", cell.lines, parse_line, "mbps, delay_ms, queue, access_queue");
    add_list(app, "--cross", cell.cross, parse_cross, "line, from_s, to_s, peak_mbps, mean_mbps");
    add_list(app, "--ramp", cell.ramps, parse_ramp, "line, from_s, to_s, delay_ms");
    add_list(app, "--errors", cell.errors, parse_errors, "line, from_s, to_s, rate");
}

}  // namespace

int main(int argc, char** argv) try {
    Cell cell;
    std::string out;
    CLI::App app("One cell of the multipath papers' experiments, in ns-3");
    add_options(app, cell);
    app.add_option("--out", out, "writes OUT.samples.csv");
    CLI11_PARSE(app, argc, argv);
    if (const auto fault = fault_of(cell)) {
        std::fprintf(stderr, "%s\n", fault->c_str());
        return 2;
    }
    const Run run = run_cell(cell);
    write_summary(std::cout, cell, run);
    if (!out.empty()) {
        std::ofstream file(out + ".samples.csv");
        file.exceptions(std::ios::failbit | std::ios::badbit);
        write_samples(file, run);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "udtx-papers-paths: %s\n", error.what());
    return 1;
}
