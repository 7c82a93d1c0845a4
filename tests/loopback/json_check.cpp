// json_check FILE [KEY]: fails unless FILE holds exactly one JSON object (RFC 8259) and otherwise only white space.
// Prints the raw value of a top-level KEY.
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace {

class Checker {
  public:
    explicit Checker(std::string text) : text_(std::move(text)) {}

    std::map<std::string, std::string> run() {
        space();
        if (peek() != '{') fail("no object");
        object(&fields_);
        space();
        if (at_ != text_.size()) fail("something follows the object");
        return fields_;
    }

  private:
    using Fields = std::map<std::string, std::string>;

    [[noreturn]] void fail(const std::string& why) const {
        throw std::runtime_error(why + " at byte " + std::to_string(at_));
    }
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void expect(char c) {
        if (peek() != c) fail(std::string("expected ") + c);
        ++at_;
    }
    void space() {
        while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
    }
    void word(const std::string& w) {
        if (text_.compare(at_, w.size(), w) != 0) fail("expected " + w);
        at_ += w.size();
    }
    void digits() {
        if (std::isdigit(static_cast<unsigned char>(peek())) == 0) fail("expected a digit");
        while (std::isdigit(static_cast<unsigned char>(peek())) != 0) ++at_;
    }
    void number() {
        if (peek() == '-') ++at_;
        if (peek() == '0') {
            ++at_;
        } else {
            digits();
        }
        if (peek() == '.') {
            ++at_;
            digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            ++at_;
            if (peek() == '+' || peek() == '-') ++at_;
            digits();
        }
    }
    void escape() {
        const char c = peek();
        ++at_;
        if (c != 'u') {
            if (std::string("\"\\/bfnrt").find(c) == std::string::npos) fail("bad escape");
            return;
        }
        for (int i = 0; i < 4; ++i, ++at_) {
            if (std::isxdigit(static_cast<unsigned char>(peek())) == 0) fail("bad \\u escape");
        }
    }
    std::string string() {
        expect('"');
        const std::size_t begin = at_;
        while (peek() != '"') {
            if (at_ >= text_.size()) fail("string without end");
            if (static_cast<unsigned char>(peek()) < 0x20) fail("control character in a string");
            if (peek() == '\\') {
                ++at_;
                escape();
            } else {
                ++at_;
            }
        }
        ++at_;
        return text_.substr(begin, at_ - begin - 1);
    }
    void array() {
        expect('[');
        space();
        if (peek() == ']') {
            ++at_;
            return;
        }
        for (;;) {
            value();
            space();
            if (peek() != ',') break;
            ++at_;
        }
        expect(']');
    }
    void object(Fields* fields) {
        expect('{');
        space();
        if (peek() == '}') {
            ++at_;
            return;
        }
        for (;;) {
            space();
            const std::string key = string();
            space();
            expect(':');
            space();
            const std::size_t begin = at_;
            value();
            if (fields != nullptr && !fields->emplace(key, text_.substr(begin, at_ - begin)).second) {
                fail("key twice: " + key);
            }
            space();
            if (peek() != ',') break;
            ++at_;
        }
        expect('}');
    }
    void value() {
        space();
        switch (peek()) {
            case '{':
                object(nullptr);
                break;
            case '[':
                array();
                break;
            case '"':
                string();
                break;
            case 't':
                word("true");
                break;
            case 'f':
                word("false");
                break;
            case 'n':
                word("null");
                break;
            default:
                number();
        }
    }

    std::string text_;
    std::size_t at_ = 0;
    Fields fields_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    try {
        const auto fields = Checker(text).run();
        if (argc > 2) std::cout << fields.at(argv[2]) << '\n';
    } catch (const std::exception& e) {
        std::cerr << argv[1] << ": " << e.what() << '\n' << text << '\n';
        return 1;
    }
    return 0;
}
