# What `cmake --install` puts where: header, shared library, programs, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS ronde EXPORT ronde_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/ronde/ronde.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ronde)
install(EXPORT ronde_targets NAMESPACE ronde:: FILE ronde-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ronde)
configure_package_config_file(cmake/ronde-config.cmake.in ${PROJECT_BINARY_DIR}/ronde-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ronde)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ronde-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ronde-config.cmake ${PROJECT_BINARY_DIR}/ronde-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ronde)

configure_file(cmake/ronde.pc.in ${PROJECT_BINARY_DIR}/ronde.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ronde.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
