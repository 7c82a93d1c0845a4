// The library's owner of the protocol thread, by the name that the tools know it by.
#pragma once

#include "io/protocol_thread.hpp"

namespace udtx::apps {

using Transport = io::ProtocolThread;
using io::kDrainAtMost;

}  // namespace udtx::apps
