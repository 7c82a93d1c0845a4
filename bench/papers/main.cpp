// udtx-papers: runs one cell and prints its results as one JSON object. With --out it also writes CSV files with the
// samples and with the throughput of each second. matrix.py lists the cells of each figure.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include "cell.hpp"
#include "experiment.hpp"
#include "report.hpp"
#include "udtx/congestion.hpp"

namespace {

void add_options(CLI::App& app, udtx::papers::Cell& cell) {
    app.add_option("--controller", cell.controller);
    app.add_option("--alpha", cell.alpha, "threshold of the congestion degree (cd)");
    app.add_option("--beta", cell.beta, "threshold of the congestion degree (cd)");
    app.add_flag("--printed", cell.printed, "udt and cd by the paper's equations instead of UDT 4.11's");
    app.add_option("--access-mbps", cell.access_mbps);
    app.add_option("--access-delay-ms", cell.access_delay_ms);
    app.add_option("--line-mbps", cell.line_mbps);
    app.add_option("--line-delay-ms", cell.line_delay_ms);
    app.add_option("--queue-packets", cell.queue_packets)->check(CLI::PositiveNumber);
    app.add_option("--access-queue-packets", cell.access_queue_packets, "0: as on the link");
    app.add_option("--cross-mbps", cell.cross_mbps, "UDP on the link, 2 s on and 1 s off");
    app.add_option("--cross-from-s", cell.cross_from_s);
    app.add_option("--flows", cell.flows)->check(CLI::Range(1, 100));
    app.add_option("--join-every-s", cell.join_every_s);
    app.add_option("--seconds", cell.seconds)->check(CLI::PositiveNumber);
    app.add_option("--seed", cell.seed);
}

std::ofstream open(const std::string& path) {
    std::ofstream file(path);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    return file;
}

}  // namespace

int main(int argc, char** argv) try {
    using namespace udtx::papers;
    Cell cell;
    std::string out;
    bool list = false;
    CLI::App app("One cell of the papers' experiments, in ns-3");
    add_options(app, cell);
    app.add_option("--out", out, "writes OUT.samples.csv and OUT.seconds.csv");
    app.add_flag("--controllers", list, "prints the names of the controllers");
    CLI11_PARSE(app, argc, argv);

    const auto known = udtx::congestion_controller_names();
    if (list) {
        for (const std::string& name : known) std::cout << name << '\n';
        return 0;
    }
    if (std::find(known.begin(), known.end(), cell.controller) == known.end()) {
        std::fprintf(stderr, "no controller '%s'\n", cell.controller.c_str());
        return 2;
    }
    const Run run = run_cell(cell);
    write_summary(std::cout, cell, run);
    if (!out.empty()) {
        auto samples = open(out + ".samples.csv");
        write_samples(samples, run);
        auto seconds = open(out + ".seconds.csv");
        write_seconds(seconds, run);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "udtx-papers: %s\n", error.what());
    return 1;
}
