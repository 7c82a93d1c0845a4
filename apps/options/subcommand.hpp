// A first word of a tool as a parser of its own, for the texts that name every flag.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace udtx::apps {

template <class Command, class Define>
std::shared_ptr<const CLI::App> subcommand(Define define) {
    struct Both {
        Command command;
        CLI::App app;
    };
    const auto both = std::make_shared<Both>();
    define(both->app, both->command);
    return {both, &both->app};
}

}  // namespace udtx::apps
