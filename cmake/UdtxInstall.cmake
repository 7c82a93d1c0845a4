# Three components: `lib` has the files that programs with the shared library need at run time, `dev` the files that
# building them needs, and `tools` the tools (apps/CMakeLists.txt). Libraries that were not built are skipped with a
# notice.
include(CMakePackageConfigHelpers)

set(udtx_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/udtx)
if(BUILD_SHARED_LIBS)
    set(udtx_libraries udtx)
    set(udtx_license_components lib dev)
    set(udtx_library_file ${CMAKE_SHARED_LIBRARY_PREFIX}udtx${CMAKE_SHARED_LIBRARY_SUFFIX})
    set(udtx_targets_file udtx-targets.cmake)
else()
    set(udtx_libraries udtx_core udtx_transport udtx_transfer)
    set(udtx_license_components dev)
    # The package configuration file replaces ${part}.
    set(udtx_library_file ${CMAKE_STATIC_LIBRARY_PREFIX}udtx_\${part}${CMAKE_STATIC_LIBRARY_SUFFIX})
    set(udtx_targets_file udtx-\${part}-targets.cmake)
    set(udtx_transport_needs Threads OpenSSL)
    if(IPSec_MB_FOUND)
        list(APPEND udtx_transport_needs IPSec_MB)
    endif()
    set(udtx_transfer_needs libxxhash)
endif()

foreach(library IN LISTS udtx_libraries)
    string(REPLACE _ - targets ${library}-targets)
    install(TARGETS ${library} EXPORT ${targets}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev OPTIONAL
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT dev OPTIONAL)
    install(EXPORT ${targets} NAMESPACE udtx:: DESTINATION ${udtx_package_dir} COMPONENT dev)
    install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${library}>\")
        message(NOTICE \"-- ${library} was not built: it is not installed\")\nendif()" COMPONENT dev)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/libudtx/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/udtx-config.cmake.in ${PROJECT_BINARY_DIR}/udtx-config.cmake
                              INSTALL_DESTINATION ${udtx_package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR)
# Before 1.0, a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/udtx-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/udtx-config.cmake ${PROJECT_BINARY_DIR}/udtx-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindIPSec_MB.cmake
        DESTINATION ${udtx_package_dir} COMPONENT dev)

# For pkg-config: one file per part, which requires the part before it, and udtx.pc for all built parts.
set(udtx_pc_dir ${PROJECT_BINARY_DIR}/pkgconfig)
set(udtx_pc_destination "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
function(udtx_make_pc file name requires libs)
    # The prefix is relative to the .pc file, so that an installed tree can be moved.
    file(RELATIVE_PATH prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" prefix ${prefix})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/udtx.pc.in ${udtx_pc_dir}/${file}.pc @ONLY)
endfunction()
function(udtx_install_pc library file)  # installs the file if the library was built
    install(CODE "if(EXISTS \"$<TARGET_FILE:${library}>\")
        file(INSTALL \"${udtx_pc_dir}/${file}.pc\" DESTINATION \"${udtx_pc_destination}\")\nendif()" COMPONENT dev)
endfunction()
if(BUILD_SHARED_LIBS)
    set(udtx_pc_cflags -DUDTX_SHARED)
    udtx_make_pc(udtx udtx "" -ludtx)
    udtx_install_pc(udtx udtx)
    foreach(part IN ITEMS core transport transfer)
        udtx_make_pc(udtx-${part} udtx-${part} "udtx = ${PROJECT_VERSION}" "")
        udtx_install_pc(udtx udtx-${part})
    endforeach()
else()
    # There are only archives. Their dependencies are always linked, with --static and without.
    set(udtx_pc_requires "")
    set(udtx_transport_requires ", openssl >= 3.0")
    set(udtx_transfer_requires ", libxxhash")
    set(udtx_transport_libs " -pthread")
    set(udtx_transfer_libs " -pthread")
    if(IPSec_MB_FOUND)
        string(APPEND udtx_transport_libs " -lIPSec_MB")
    endif()
    foreach(part IN ITEMS core transport transfer)
        udtx_make_pc(udtx-${part} udtx-${part} "${udtx_pc_requires}${udtx_${part}_requires}" "-ludtx_${part}${udtx_${part}_libs}")
        set(udtx_pc_requires "udtx-${part} = ${PROJECT_VERSION}")
        udtx_make_pc(all_to_${part} udtx "${udtx_pc_requires}" "")
        udtx_install_pc(udtx_${part} udtx-${part})
        install(CODE "if(EXISTS \"$<TARGET_FILE:udtx_${part}>\")\n    set(udtx_last_part ${part})\nendif()" COMPONENT dev)
    endforeach()
    install(CODE "if(udtx_last_part)
        configure_file(\"${udtx_pc_dir}/all_to_\${udtx_last_part}.pc\" \"${udtx_pc_dir}/udtx.pc\" COPYONLY)
        file(INSTALL \"${udtx_pc_dir}/udtx.pc\" DESTINATION \"${udtx_pc_destination}\")\nendif()" COMPONENT dev)
endif()

foreach(component IN LISTS udtx_license_components)
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
            DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endforeach()
