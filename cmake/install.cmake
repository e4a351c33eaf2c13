# What `cmake --install` puts where: libraries, headers, the CMake package, the pkg-config file, the gdb printers.
include(CMakePackageConfigHelpers)

# What is installed finds its libraries from where it lies: the command starts wherever the tree is put, with no variable set.
set(here $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>)
set_target_properties(tenon_io tenon PROPERTIES INSTALL_RPATH "${here}")
if(TENON_CLI)
  file(RELATIVE_PATH libraries_from_command ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(tenon_cli PROPERTIES INSTALL_RPATH "${here}/${libraries_from_command}")
endif()

install(TARGETS tenon_io tenon EXPORT tenonTargets)
if(TENON_CLI)
  install(TARGETS tenon_cli)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tenonConfig.cmake.in ${PROJECT_BINARY_DIR}/tenonConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tenonConfig.cmake ${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake DESTINATION ${package_dir})

# The file finds its prefix from where it lies, so that `cmake --install --prefix` and a moved tree both work.
file(RELATIVE_PATH TENON_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(kind LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${kind}})
    set(TENON_PC_${kind} ${CMAKE_INSTALL_${kind}})
  else()
    set(TENON_PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
  endif()
endforeach()
if(NOT BUILD_SHARED_LIBS)
  set(TENON_PC_LIBS " -lhwy -ldnnl -ldeflate -lsimdjson -lre2")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tenon.pc.in ${PROJECT_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/tools/tenon_gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/tenon)
