#include "udtx/version.hpp"

namespace udtx {

const char* library_version() noexcept { return UDTX_VERSION_STRING; }

}  // namespace udtx
