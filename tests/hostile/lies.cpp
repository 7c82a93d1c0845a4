#include "lies.hpp"

#include <utility>

#include "peer_messages.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/names.hpp"

namespace udtx::hostile {

using namespace transfer;

void Script::put(const Message& message) {
    MessageWriter out;
    out.put(message);
    control_.insert(control_.end(), out.bytes().begin(), out.bytes().end());
}

void Script::raw(std::string_view bytes) {
    const auto raw = std::as_bytes(std::span(bytes));
    control_.insert(control_.end(), raw.begin(), raw.end());
}

void Script::sources(SourceShape shape) { put(message::Sources{shape, {}}); }

void Script::offer(const Edit& edit) {
    message::Offer m;
    m.preserve = asked_.what.preserve;
    m.owner = asked_.what.owner;
    m.dry_run = asked_.what.dry_run;
    m.erase = asked_.what.erase;
    m.transfer = asked_.transfer;
    m.overwrite = asked_.what.overwrite;
    m.set_id = asked_.what.set_id;
    m.sparse = asked_.what.sparse;
    m.by_digest = asked_.what.by_digest;
    if (edit) edit(m);
    put(m);
    if (m.erase) put(message::Rules{false, {}});
}

message::Entry Script::entry(EntryType type, std::string_view path) {
    message::Entry m;
    m.index = entries_++;
    m.type = type;
    m.path = split_path(path);
    m.mode = type == EntryType::directory ? 0755 : 0644;
    m.mtime = {1'700'000'000, 0};
    return m;
}

void Script::file(std::string_view path, std::string_view content) {
    message::Entry m = entry(EntryType::file, path);
    m.size = content.size();
    m.whole = true;
    put(m);
    const Digest whole = test::put_digests(m.index, content.size(), std::as_bytes(std::span(content)),
                                           [this](const Message& message) { put(message); });
    root_.add(m.index, whole);
    put(message::FileEnd{m.index, FileStatus::ok, whole});
    data_ += content;
}

void Script::directory(std::string_view path) { put(entry(EntryType::directory, path)); }

void Script::symlink(std::string_view path, std::string_view target) {
    message::Entry m = entry(EntryType::symlink, path);
    m.target = target;
    put(m);
}

void Script::hard_link(std::string_view path, std::string_view target) {
    message::Entry m = entry(EntryType::hard_link, path);
    m.target = target;
    put(m);
}

void Script::query(std::string_view path) {
    message::Query m;
    m.number = queries_++;
    m.path = split_path(path);
    m.size = 5;
    put(m);
}

void Script::finish() {
    message::Finish m;
    m.entries = entries_;
    m.data_bytes = data_.size();
    m.root = root_.finish();
    put(m);
}

namespace {

using Tell = std::function<void(Script&)>;

/// An answer with that shape; `tell` adds the entries.
Tell with(SourceShape shape, const Tell& tell, const Script::Edit& edit = {}) {
    return [=](Script& s) {
        s.sources(shape);
        s.offer(edit);
        tell(s);
        s.finish();
    };
}
Tell file(const std::string& path) {
    return [=](Script& s) { s.file(path); };
}
Tell link(const std::string& path, const std::string& target) {
    return [=](Script& s) { s.symlink(path, target); };
}
/// A file whose name has exactly these components.
Tell named(const std::vector<std::string>& components) {
    return [=](Script& s) {
        message::Entry m = s.entry(EntryType::directory, "");
        m.path = components;
        s.put(m);
    };
}
Tell both(const Tell& first, const Tell& second) {
    return [=](Script& s) {
        first(s);
        second(s);
    };
}
Tell directory(const std::string& path) {
    return [=](Script& s) { s.directory(path); };
}

/// Announces the client's own file `keep` as identical on the server.
void keep(Script& s) {
    message::Entry m = s.entry(EntryType::file, "keep");
    m.size = 5;
    s.put(m);
    s.put(message::FileEnd{m.index, FileStatus::kept, {}});
}

constexpr auto kFile = SourceShape::file;
constexpr auto kDirectory = SourceShape::directory;
constexpr auto kContents = SourceShape::contents;
constexpr auto kSeveral = SourceShape::several;

std::vector<Lie> all() {
    const Tell dir = directory("dir");
    return {
        // --- the truth, for comparison with the lies
        {"a file", "URLa.txt .", "", with(kFile, file("a.txt"))},
        {"a file under another name", "URLa.txt copy.txt", "", with(kFile, file("a.txt"))},
        {"a directory", "URLdir .", "", with(kDirectory, both(dir, file("dir/x")))},
        {"what is in a directory", "URLdir/ .", "",
         with(kContents, both(file("x"), both(directory("d"), file("d/y"))))},
        {"what belongs to a directory", "-p URLdir/ .", "", with(kContents, both(directory(""), file("x")))},
        {"several", "URLa.txt URLdir .", "", with(kSeveral, both(file("a.txt"), both(dir, file("dir/x"))))},
        {"listed", "--files-from names URLdir .", "",
         with(kContents, both(both(directory("in"), file("in/a")), directory("more")))},
        {"a link", "URLlnk .", "", with(kFile, link("lnk", "/etc/passwd"))},
        {"a safe link", "--safe-links URLdir .", "", with(kDirectory, both(dir, link("dir/l", "x")))},
        {"names of a file", "-H URLdir .", "",
         with(kDirectory, both(both(dir, file("dir/x")), [](Script& s) { s.hard_link("dir/y", "dir/x"); }))},

        {"a link that is left out", "--no-links URLlnk .", "lnk", with(kFile, [](Script&) {}), 0},
        {"a source that the request excludes", "--exclude a.* URLa.txt URLdir .", "",
         with(kSeveral, both(dir, file("dir/x")))},

        // --- nothing instead of what was asked for
        {"nothing for a file", "URLa.txt .", "a.txt", with(kFile, [](Script&) {}), 23},
        {"nothing for a directory", "--no-links URLdir .", "dir", with(kDirectory, [](Script&) {}), 23},
        {"one of two", "URLa.txt URLdir .", "dir: it was requested", with(kSeveral, file("a.txt")), 23},
        {"none of two", "URLa.txt URLdir .", "a.txt", with(kSeveral, [](Script&) {}), 23},
        {"nothing of a list", "--files-from names URLdir .", "in/a", with(kContents, [](Script&) {}), 23},
        {"the way to a listed name", "--files-from names URLdir .", "in/a", with(kContents, directory("in")), 23},
        {"only a question", "URLa.txt .", "a.txt", with(kFile, [](Script& s) { s.query("a.txt"); }), 23},
        {"only a plan of one", "-n URLa.txt URLdir .", "a.txt", with(kSeveral, [](Script& s) { s.query("a.txt"); }),
         23},
        {"it is missing, and so is another one", "URLa.txt .", "/etc/shadow",
         [](Script& s) {
             s.put(message::Sources{kFile, {{"a.txt", "gone"}, {"/etc/shadow", "gone"}}});
         }},
        {"it is missing", "URLa.txt URLdir .", "gone",
         [=](Script& s) {
             s.put(message::Sources{kSeveral, {{"a.txt", "gone"}}});
             s.offer();
             both(dir, file("dir/x"))(s);
             s.finish();
         },
         23},

        // --- names
        {"another name", "URLa.txt .", ".bashrc", with(kFile, file(".bashrc"))},
        {"a deeper name", "URLa.txt .", ".ssh/authorized_keys", with(kFile, file(".ssh/authorized_keys"))},
        {"one more", "URLa.txt .", ".bashrc", with(kFile, both(file("a.txt"), file(".bashrc")))},
        {"one more among several", "URLa.txt URLdir .", ".bashrc",
         with(kSeveral, both(file("a.txt"), file(".bashrc")))},
        {"below the new name", "URLa.txt copy.txt", "a.txt/.profile", with(kFile, file("a.txt/.profile"))},
        {"a directory for the file", "URLa.txt copy.txt", "a.txt",
         with(kFile, both(directory("a.txt"), file("a.txt/x")))},
        {"two for one, both renamed", "URLa.txt copy.txt", ".bashrc",
         with(kDirectory, both(directory("a.txt"), file(".bashrc")))},
        {"a file for the directory", "URLdir copy", "dir", with(kDirectory, file("dir"))},
        {"beside the directory", "URLdir .", ".bashrc", with(kDirectory, both(dir, file(".bashrc")))},
        {"a name in other letters", "URLa.txt .", "A.TXT", with(kFile, file("A.TXT"))},
        {"only a directory", "URLa.txt URLdir .", ".ssh", with(kSeveral, directory(".ssh"))},
        // No file can have these names, so each is the same kind of lie.
        {"up", "URLdir/ .", "leads to another directory", with(kContents, named({"..", "x"}))},
        {"up from below", "URLdir/ .", "leads to another directory", with(kContents, named({"d", "..", "..", "x"}))},
        {"a slash", "URLdir/ .", "slash", with(kContents, named({"/etc/x"}))},
        {"a NUL", "URLdir/ .", "NUL", with(kContents, named({std::string("a\0b", 3)}))},
        {"a question about a name", "URLa.txt .", ".ssh/id_rsa",
         with(kFile, [](Script& s) { s.query(".ssh/id_rsa"); })},

        {"a journal", "URLdir .", ".udtx-0123456789abcdef.journal",
         with(kDirectory, both(dir, file("dir/.udtx-0123456789abcdef.journal")))},
        {"a part of a transfer", "URLdir/ .", ".udtx-0123456789abcdef.part",
         with(kContents, file(".udtx-0123456789abcdef.part"))},

        // --- files-from lists, and patterns
        {"not in the list", "--files-from names URLdir .", ".bashrc", with(kContents, file(".bashrc"))},
        {"below a listed file", "--files-from names URLdir .", "in/a/b", with(kContents, file("in/a/b"))},
        {"beside a listed one", "--files-from names URLdir .", "in/b", with(kContents, file("in/b"))},
        {"in place of the way", "--files-from names URLdir .", "'in'", with(kContents, file("in"))},
        {"deeper than what is listed", "--files-from names URLdir .", "more/d/y", with(kContents, file("more/d/y"))},
        {"excluded", "--exclude *.sh URLdir/ .", "x.sh", with(kContents, file("x.sh"))},
        {"below an excluded one", "--exclude .ssh/ URLdir/ .", ".ssh/authorized_keys",
         with(kContents, file(".ssh/authorized_keys"))},
        {"an excluded directory", "--exclude .ssh/ URLdir/ .", "'.ssh'", with(kContents, directory(".ssh"))},

        {"anything for an empty list", "--files-from /dev/null URLdir .", ".bashrc", with(kContents, file(".bashrc"))},
        {"a question about another transfer's own", "URLdir/ .", ".udtx-0123456789abcdef.part",
         with(kContents, [](Script& s) { s.query(".udtx-0123456789abcdef.part"); })},

        // --- links
        {"a link for the file without links", "--no-links URLpw .", "'pw'", with(kFile, link("pw", "/etc/passwd"))},
        {"a link without links", "--no-links URLdir .", "dir/l", with(kDirectory, both(dir, link("dir/l", "x")))},
        {"an absolute link among safe ones", "--safe-links URLdir .", "dir/l",
         with(kDirectory, both(dir, link("dir/l", "/etc/passwd")))},
        {"a link that leads out", "--safe-links URLdir .", "dir/l",
         with(kDirectory, both(dir, link("dir/l", "../../x")))},
        {"a hard link that is not wanted", "URLdir .", "dir/y",
         with(kDirectory, both(both(dir, file("dir/x")), [](Script& s) { s.hard_link("dir/y", "dir/x"); }))},
        {"a hard link to what is here", "-H URLdir .", "'keep'",
         with(kDirectory, both(dir, [](Script& s) { s.hard_link("dir/y", "keep"); }))},

        // --- the shape, and the fields of the offer
        {"the contents for the directory", "URLdir .", "the contents of a directory", with(kContents, file(".bashrc"))},
        {"one for several", "URLa.txt URLdir .", "one name for several", with(kFile, file("a.txt"))},
        {"a stream for a file", "URLa.txt .", "stream", with(SourceShape::stream, file("a.txt"))},
        {"another place", "URLa.txt .", "another place",
         with(kFile, file("a.txt"), [](message::Offer& m) { m.destination = {".ssh"}; })},
        {"a stream in place of a tree", "URLa.txt .", "another kind",
         with(kFile, file("a.txt"),
              [](message::Offer& m) {
                  m.mode = TransferMode::stream;
                  m.destination = {".bashrc"};
              })},
        {"to delete", "URLdir/ .", "deletion", with(kContents, file("x"), [](message::Offer& m) { m.erase = true; })},
        {"a deletion without the rules that were asked for", "--delete --exclude .* --exclude keep URLdir/ .", "",
         with(kContents, both(
                             [](Script& s) {
                                 s.put(message::Rules{true, {}});
                             },
                             file("x")))},
        {"a deletion with a rule that spares nothing", "--delete --exclude .* --exclude keep URLdir/ .", "",
         with(kContents, both(
                             [](Script& s) {
                                 s.put(message::Rules{true, {{true, "*"}}});
                             },
                             file("x")))},
        {"to delete elsewhere", "--delete URLdir .", "deletion elsewhere",
         with(kDirectory, both(
                              [](Script& s) {
                                  s.put(message::Rules{true, {}});
                              },
                              dir))},
        {"owners", "URLa.txt .", "owners", with(kFile, file("a.txt"), [](message::Offer& m) { m.owner = true; })},
        {"modes", "URLa.txt .", "modes", with(kFile, file("a.txt"), [](message::Offer& m) { m.preserve = true; })},
        {"the mode of the destination", "-p URLdir .", "destination", with(kDirectory, both(directory(""), dir))},
        {"the mode of the destination, unasked", "URLdir/ .", "destination", with(kContents, directory(""))},
        {"the bits of a user", "-p URLa.txt .", "set-user-ID",
         with(kFile, file("a.txt"), [](message::Offer& m) { m.set_id = true; })},
        {"attributes", "URLa.txt .", "attributes",
         with(kFile, both(file("a.txt"),
                          [](Script& s) {
                              s.put(message::Meta{0, false, true, 0, 0, {{"user.x", "y"}}});
                          }))},
        {"attributes without a word of them", "URLa.txt .", "attributes",
         with(kFile, both(file("a.txt"),
                          [](Script& s) {
                              s.put(message::Meta{0, false, false, 0, 0, {{"user.x", "y"}}});
                          }))},
        {"attributes of what is here", "URLdir/ .", "attributes",
         with(kContents,
              [](Script& s) {
                  keep(s);
                  s.put(message::Meta{0, false, false, 0, 0, {{"user.x", "y"}}});
              })},
        {"what belongs to a file that is to stay", "-a --overwrite never URLdir/ .", "",
         with(kContents,
              [](Script& s) {
                  keep(s);
                  s.put(message::Meta{0, true, true, 1234, 1234, {{"user.x", "y"}}});
                  s.file("x");
              })},
        {"to overwrite", "--overwrite never URLdir/ .", "overwrite",
         with(kContents, file("keep"), [](message::Offer& m) { m.overwrite = Overwrite::always; })},
        {"to overwrite what differs", "--overwrite never URLdir/ .", "overwrite",
         with(kContents, file("keep"), [](message::Offer& m) { m.overwrite = Overwrite::diff; })},
        {"to overwrite, as was asked", "--overwrite never URLdir/ .", "",
         with(kContents, both(file("keep"), file("x")))},
        {"to overwrite nothing", "URLa.txt .", "overwrite",
         with(kFile, file("a.txt"), [](message::Offer& m) { m.overwrite = Overwrite::never; })},
        {"no comparison", "-c URLdir/ .", "comparison",
         with(
             kContents, [](Script& s) { s.query("keep"); }, [](message::Offer& m) { m.by_digest = false; })},
        {"the journal of another transfer", "URLa.txt .", "another transfer",
         with(kFile, file("a.txt"), [](message::Offer& m) { ++m.transfer; })},
        {"what there is, twice", "URLa.txt -", "twice",
         [](Script& s) {
             s.sources(SourceShape::stream);
             s.sources(SourceShape::stream);
         }},
        {"another hash", "--checksum sha256 URLa.txt .", "another hash", with(kFile, file("a.txt"))},
    };
}

}  // namespace

const std::vector<Lie>& lies() {
    static const std::vector<Lie> table = all();
    return table;
}

}  // namespace udtx::hostile
