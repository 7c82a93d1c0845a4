include(CMakePackageConfigHelpers)

set(udtx_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/udtx)

install(TARGETS udtx_core udtx_transport udtx_transfer udtx EXPORT udtx-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/libudtx/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT udtx-targets NAMESPACE udtx:: DESTINATION ${udtx_package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/udtx-config.cmake.in ${PROJECT_BINARY_DIR}/udtx-config.cmake
                              INSTALL_DESTINATION ${udtx_package_dir})
# Until 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/udtx-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/udtx-config.cmake ${PROJECT_BINARY_DIR}/udtx-config-version.cmake
        DESTINATION ${udtx_package_dir})

# Relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH UDTX_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" UDTX_PC_PREFIX ${UDTX_PC_PREFIX})
get_property(UDTX_PC_LIBS_PRIVATE GLOBAL PROPERTY UDTX_PC_LIBS_PRIVATE)
configure_file(${PROJECT_SOURCE_DIR}/cmake/udtx.pc.in ${PROJECT_BINARY_DIR}/udtx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/udtx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
