#include "page/document.hpp"

#include <array>
#include <utility>

namespace udtx::apps {
namespace {

constexpr std::string_view kHeadMark = "<!-- head -->";
constexpr std::string_view kScriptsMark = "<!-- scripts -->";

// Content security policy: the page loads nothing from other hosts and sends nothing to them, whatever a peer's file
// names contain.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

std::string assemble(std::string_view html, std::string_view head, std::string_view scripts) {
    const std::size_t head_at = html.find(kHeadMark);
    const std::size_t scripts_at = html.find(kScriptsMark, head_at);
    std::string out(html.substr(0, head_at));
    out.append(head);
    const std::size_t middle = head_at + kHeadMark.size();
    out.append(html.substr(middle, scripts_at - middle));
    out.append(scripts);
    return out.append(html.substr(scripts_at + kScriptsMark.size()));
}

/// JSON that cannot end the script element around it.
std::string inside_script(std::string_view json) {
    std::string out;
    for (const char c : json) {
        if (c == '<') {
            out += "\\u003c";
        } else {
            out += c;
        }
    }
    return out;
}

std::string script_element(std::string_view nonce, std::string_view text) {
    return std::string("<script nonce=\"").append(nonce).append("\">").append(text).append("</script>\n");
}

}  // namespace

HttpReply page_file(const PageAssets& assets, std::string_view target) {
    HttpReply reply;
    reply.fields = {{"Content-Security-Policy", kPolicy},
                    {"X-Content-Type-Options", "nosniff"},
                    {"X-Frame-Options", "DENY"},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cross-Origin-Resource-Policy", "same-origin"},
                    {"Cross-Origin-Opener-Policy", "same-origin"}};
    if (target == "/") {
        reply.type = "text/html; charset=utf-8";
        reply.body = assemble(assets.html, "<link rel=\"stylesheet\" href=\"page.css\">",
                              "<script src=\"chart.js\"></script>\n<script src=\"page.js\"></script>");
    } else if (target == "/page.css") {
        reply.type = "text/css; charset=utf-8";
        reply.body = assets.style;
    } else if (target == "/page.js" || target == "/chart.js") {
        reply.type = "text/javascript; charset=utf-8";
        reply.body = target == "/page.js" ? assets.script : assets.chart;
    } else {
        reply.status = 404;
        reply.body = "the page is at /\n";
    }
    return reply;
}

std::string page_with_data(const PageAssets& assets, std::string_view data, std::string_view nonce) {
    std::string head = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; ";
    head.append("script-src 'nonce-").append(nonce).append("'; style-src 'nonce-").append(nonce).append("'\">\n");
    head.append("<style nonce=\"").append(nonce).append("\">").append(assets.style).append("</style>");
    std::string scripts = "<script type=\"application/json\" id=\"data\">" + inside_script(data) + "</script>\n";
    scripts += script_element(nonce, assets.chart) + script_element(nonce, assets.script);
    return assemble(assets.html, head, scripts);
}

}  // namespace udtx::apps
