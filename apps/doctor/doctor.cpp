#include "doctor/doctor.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "common/command_line.hpp"
#include "common/json_writer.hpp"

namespace udtx::apps {

void define_doctor(CLI::App& app, DoctorCommand& command, bool dials) {
    app.name(dials ? "udtx-send doctor" : "udtx-recv doctor");
    app.description("Looks for what slows transfers down on this host, and says how to mend it.");
    use_house_style(app);
    app.add_option("--dir", command.directory, "Directory whose disk is measured (default: this one)")
        ->type_name("DIR");
    app.add_flag("--json", command.json, "Print one JSON object");
    if (!dials) return;
    app.add_option("--psk-file", command.psk_file, "As for a transfer")->type_name("FILE");
    app.add_option("--identity", command.identity, "As for a transfer")->type_name("FILE");
    app.add_option("--pin", command.pin, "As for a transfer")->type_name("KEY|FILE");
    app.add_option("-l,--rate", command.rate,
                   "Measure the path with up to so many bits a second (default: 5 % of what packet pairs show of it, "
                   "500 kbit/s to 5 Mbit/s)")
        ->type_name("RATE");
    command.ssh.add_to(app);
    app.add_option("HOST", command.hosts,
                   "[USER@]HOST[:DIR]: over ssh, what is wrong there and in between; HOST:PORT or a URL: measure the "
                   "path to the udtx-recv there, as --probe-only does")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<std::optional<std::string>> parse_doctor(std::vector<std::string> arguments, bool dials,
                                                DoctorCommand& command) {
    CLI::App app;
    define_doctor(app, command, dials);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    const std::vector<std::string>& hosts = command.hosts;
    if (hosts.size() > 1) return Error{ErrorCode::invalid_argument, "doctor takes one HOST at most"};
    if (!hosts.empty() && hosts.front().empty()) return Error{ErrorCode::invalid_argument, "HOST is an empty string"};
    if (!hosts.empty()) command.host = hosts.front();
    if (dials) {
        const auto understood = command.ssh.check();
        if (!understood) return with_short_name(app, understood.error());
    }
    const auto pass_on = [&command](const char* flag, const std::string& value) {
        if (!value.empty()) command.for_host.insert(command.for_host.end(), {flag, value});
    };
    pass_on("--psk-file", command.psk_file);
    pass_on("--identity", command.identity);
    pass_on("--pin", command.pin);
    pass_on("--rate", command.rate);
    return EarlyText();
}

std::vector<Finding> examine_host(const DoctorCommand& command) {
    std::vector<Finding> all = examine_network();
    const auto add = [&all](std::vector<Finding> more) {
        for (Finding& finding : more) all.push_back(std::move(finding));
    };
    add(examine_clock());
    add(examine_crypto());
    add(examine_disk(command.directory));
    return all;
}

ExitCode code_of(const std::vector<Finding>& findings) {
    const auto failed = [](const Finding& finding) { return finding.code != ExitCode::ok; };
    const auto first = std::find_if(findings.begin(), findings.end(), failed);
    return first == findings.end() ? ExitCode::ok : first->code;
}

std::string findings_text(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += (finding.good ? "good  " : "MEND  ") + finding.what + "\n";
        if (!finding.remedy.empty()) text += "      " + finding.remedy + "\n";
    }
    return text;
}

std::string findings_json(const std::vector<Finding>& findings) {
    JsonWriter json;
    json.begin_array();
    for (const Finding& finding : findings) {
        json.begin_object().key("good").boolean(finding.good).key("what").string(finding.what);
        json.key("remedy").string(finding.remedy).end_object();
    }
    json.end_array();
    return json.text();
}

}  // namespace udtx::apps
