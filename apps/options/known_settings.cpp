#include "options/known_settings.hpp"

#include <CLI/CLI.hpp>

#include "config/layers.hpp"
#include "options/recv_command.hpp"
#include "options/send_command.hpp"

namespace udtx::apps {

std::vector<std::string> known_settings() {
    SendCommand sending;
    RecvCommand receiving;
    CLI::App send_app;
    CLI::App recv_app;
    define_options(send_app, sending);
    define_options(recv_app, receiving);
    std::vector<std::string> names = setting_names(send_app);
    for (std::string& name : setting_names(recv_app)) names.push_back(std::move(name));
    return names;
}

}  // namespace udtx::apps
