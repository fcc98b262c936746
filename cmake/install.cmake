# What `cmake --install` puts where: header, shared library, programs, a CMake package and a pkg-config file. The whole
# may be moved afterwards: nothing in it holds the prefix.
include(CMakePackageConfigHelpers)

install(TARGETS ronde EXPORT ronde_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/ronde/ronde.h include/ronde/ronde.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ronde)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Manual pages, where there is a Python to write them from the header.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND)
  set(manual_folder ${PROJECT_BINARY_DIR}/man)
  set(manual_generator ${PROJECT_SOURCE_DIR}/tools/manual/build.py)
  file(GLOB manual_sources CONFIGURE_DEPENDS tools/manual/*.py examples/manual/*.c)
  add_custom_command(OUTPUT ${manual_folder}/written
                     COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual_folder}
                     COMMAND Python3::Interpreter -B ${manual_generator} --man ${manual_folder}
                     COMMAND ${CMAKE_COMMAND} -E touch ${manual_folder}/written
                     DEPENDS include/ronde/ronde.h ${manual_sources} VERBATIM)
  add_custom_target(ronde_manual ALL DEPENDS ${manual_folder}/written)
  install(DIRECTORY ${manual_folder}/man3 ${manual_folder}/man7 DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()

# Programs are installed where they are made. Those that use the shared library find it from their own place.
file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
foreach(program ${RONDE_PERF_PROGRAMS})
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "\$ORIGIN/${bin_to_lib}")
endforeach()

install(EXPORT ronde_targets NAMESPACE ronde:: FILE ronde-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ronde)
configure_package_config_file(cmake/ronde-config.cmake.in ${PROJECT_BINARY_DIR}/ronde-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ronde)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ronde-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ronde-config.cmake ${PROJECT_BINARY_DIR}/ronde-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ronde)

file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/ronde.pc.in ${PROJECT_BINARY_DIR}/ronde.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ronde.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
