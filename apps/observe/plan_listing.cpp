#include "observe/final_report.hpp"

#include <array>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "common/guarded.hpp"
#include "common/text.hpp"

namespace udtx::apps {
namespace {

namespace change = transfer::change;
using Kind = transfer::PlannedEntry::Kind;
using transfer::EntryType;

struct Change {
    std::uint8_t bit;
    char letter;
    std::size_t column;  // index among the eleven letters
    const char* name;
};
constexpr std::array<Change, 7> kChanges{{{change::kContent, 'c', 2, "content"},
                                          {change::kSize, 's', 3, "size"},
                                          {change::kTime, 't', 4, "time"},
                                          {change::kMode, 'p', 5, "mode"},
                                          {change::kOwner, 'o', 6, "owner"},
                                          {change::kGroup, 'g', 7, "group"},
                                          {change::kAttributes, 'x', 10, "attributes"}}};

bool is_new(const transfer::PlannedEntry& entry) { return (entry.changes & change::kNew) != 0; }

char what_happens(const transfer::PlannedEntry& entry, bool receives) {
    if (entry.kind == Kind::send || entry.kind == Kind::update) return receives ? '>' : '<';
    if (entry.kind != Kind::make) return '.';
    return entry.type == EntryType::hard_link ? 'h' : 'c';
}

char letter_of(EntryType type) {
    if (type == EntryType::directory) return 'd';
    return type == EntryType::symlink ? 'L' : 'f';
}

const char* name_of(EntryType type) {
    switch (type) {
        case EntryType::directory:
            return "directory";
        case EntryType::file:
            return "file";
        case EntryType::symlink:
            return "symlink";
        case EntryType::hard_link:
            return "hard_link";
    }
    return "";
}

const char* action_of(const transfer::PlannedEntry& entry) {
    switch (entry.kind) {
        case Kind::send:
            return "send";
        case Kind::update:
            return "update";
        case Kind::make:
            return "make";
        case Kind::unchanged:
            return entry.changes == 0 ? "none" : "attributes";
        case Kind::skip:
            return "exists";
        case Kind::erase:
            return "delete";
    }
    return "";
}

/// rsync's eleven letters, YXcstpoguax.
std::string itemized_letters(const transfer::PlannedEntry& entry, bool receives) {
    if (entry.kind == Kind::erase) return "*deleting  ";
    if (entry.kind == Kind::skip) return "*exists    ";
    std::string letters{what_happens(entry, receives), letter_of(entry.type)};
    if (entry.kind == Kind::unchanged && entry.changes == 0) return letters + std::string(9, ' ');
    if (is_new(entry)) return letters + std::string(9, '+');
    letters += std::string(9, '.');
    for (const Change& one : kChanges) {
        if ((entry.changes & one.bit) != 0) letters[one.column] = one.letter;
    }
    return letters;
}

/// The letters, the name, and a link's target.
std::string itemized_line(const transfer::PlannedEntry& entry, bool receives) {
    std::string line = itemized_letters(entry, receives) + ' ' + escape_for_terminal(entry.path);
    if (entry.type == EntryType::directory) line += '/';
    if (entry.type == EntryType::symlink) line += " -> " + escape_for_terminal(entry.target);
    if (entry.type == EntryType::hard_link) line += " => " + escape_for_terminal(entry.target);
    return line;
}

/// The same as a JSON object; with `event` it has the key "event".
std::string itemized_json(const transfer::PlannedEntry& entry, bool receives, bool event) {
    Json json = Json::object({});
    if (event) json.add({{"event", "plan"}});
    json.add({{"itemized", itemized_letters(entry, receives)}, {"action", action_of(entry)}});
    json.add_bytes("path", entry.path);
    if (entry.kind == Kind::erase) {
        json.add({{"type", entry.type == EntryType::directory ? "directory" : "other"}});
    } else {
        std::vector<std::string> changes;
        for (const Change& one : kChanges) {
            if (!is_new(entry) && (entry.changes & one.bit) != 0) changes.emplace_back(one.name);
        }
        json.add({{"type", name_of(entry.type)}, {"new", is_new(entry)}, {"changes", Json::array(changes)}});
        if (entry.type == EntryType::file) json.add({{"size", entry.size}});
        if (!entry.target.empty()) json.add({{"target", entry.target}});
    }
    return json.text();
}

// Bytes of the list in one JSON object. --json-stream has no such limit.
constexpr std::size_t kMaxKeptBytes = 256U << 20U;

/// The list kept for the only transfer of this process.
struct Kept {
    std::string objects{};  // separated by commas
    bool cut = false;
    bool wanted = false;
};

Guarded<Kept>& kept() {
    static Guarded<Kept> all;
    return all;
}

void keep(Kept& all, const std::string& object) {
    if (all.objects.size() + object.size() > kMaxKeptBytes) {
        all.cut = true;
        return;
    }
    if (!all.objects.empty()) all.objects += ',';
    all.objects += object;
}

enum class Form {
    none,
    lines,
    objects,  ///< one line of --json-stream each
    kept      ///< for the object of --json
};

}  // namespace

transfer::PlanCallback plan_listing(Log& log, const TreeOptions& tree, const CommonOptions& common, bool receives) {
    Form form = common.quiet ? Form::none : Form::lines;
    if (common.json) form = common.json_stream ? Form::objects : Form::kept;
    if (!tree.what.dry_run) form = Form::none;
    *kept().lock() = {.wanted = form == Form::kept};
    return [&log, form, receives, verbose = common.verbose](const transfer::PlannedEntry& entry) {
        if (form == Form::none) {
            if (entry.kind == Kind::erase) log.detail("delete " + escape_for_terminal(entry.path));
            return;
        }
        if (entry.kind == Kind::unchanged && entry.changes == 0 && !verbose) return;
        const auto all = kept().lock();
        if (form == Form::kept) return keep(*all, itemized_json(entry, receives, false));
        const std::string line =
            form == Form::objects ? itemized_json(entry, receives, true) : itemized_line(entry, receives);
        std::cout << line + '\n';
        // Progress objects bypass this buffer. The flush after each object keeps every line whole.
        if (form == Form::objects) std::cout.flush();
    };
}

void check_listing(Log& log, FinalReport& report) {
    if (!report.dry_run) return;
    Kept all = std::exchange(*kept().lock(), {});
    if (all.wanted) report.plan = '[' + std::move(all.objects) + ']';
    report.plan_cut = all.cut;
    if (std::cout.flush()) return;
    log.error("cannot write the list to standard output");
    if (report.code == ExitCode::ok) report.code = ExitCode::file_io;
}

}  // namespace udtx::apps
