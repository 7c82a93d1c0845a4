#include "doctor/findings.hpp"

#include <algorithm>

#include "common/json_writer.hpp"

namespace udtx::apps {

ExitCode code_of(const std::vector<Finding>& findings) {
    const auto failed = [](const Finding& finding) { return finding.code != ExitCode::ok; };
    const auto first = std::find_if(findings.begin(), findings.end(), failed);
    return first == findings.end() ? ExitCode::ok : first->code;
}

std::string findings_text(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += (finding.good ? "good  " : "FIX   ") + finding.what + "\n";
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
