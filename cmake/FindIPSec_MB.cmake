# Finds Intel's Multi-Buffer library, which has no CMake package, as IPSec_MB::IPSec_MB. The build and the installed
# package use this file. Versions that support ChaCha20-Poly1305 only through their job queue count as missing.
find_path(IPSec_MB_INCLUDE_DIR intel-ipsec-mb.h)
find_library(IPSec_MB_LIBRARY IPSec_MB)
mark_as_advanced(IPSec_MB_INCLUDE_DIR IPSec_MB_LIBRARY)
set(IPSec_MB_IS_NEW FALSE)
if(IPSec_MB_INCLUDE_DIR)
    file(STRINGS ${IPSec_MB_INCLUDE_DIR}/intel-ipsec-mb.h IPSec_MB_IS_NEW REGEX "define IMB_CHACHA20_POLY1305_INIT" LIMIT_COUNT 1)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(IPSec_MB REQUIRED_VARS IPSec_MB_LIBRARY IPSec_MB_INCLUDE_DIR IPSec_MB_IS_NEW)
if(IPSec_MB_FOUND AND NOT TARGET IPSec_MB::IPSec_MB)
    add_library(IPSec_MB::IPSec_MB UNKNOWN IMPORTED)
    set_target_properties(IPSec_MB::IPSec_MB PROPERTIES
        IMPORTED_LOCATION ${IPSec_MB_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${IPSec_MB_INCLUDE_DIR})
endif()
