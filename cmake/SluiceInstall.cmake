# cmake --install: the program, the libraries with the headers that apps include, and the package that
# find_package(sluice) reads. Headers keep their names: an app includes "core/app.hpp" in this tree and out of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(sluice_all INTERFACE)
target_link_libraries(sluice_all INTERFACE sluice_cli sluice_apps)
foreach(name core scheduler comm slurm kernels apps doctor runtime ladder cli all)
  set_target_properties(sluice_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(sluice_${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/sluice>)
  target_compile_features(sluice_${name} INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
  install(TARGETS sluice_${name} EXPORT sluice ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
set_target_properties(sluice_all PROPERTIES EXPORT_NAME sluice)

install(TARGETS sluice RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES docs/report.schema.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/sluice)
install(DIRECTORY core kernels apps DESTINATION ${headers} FILES_MATCHING PATTERN "*.hpp"
  PATTERN kernels/host EXCLUDE PATTERN kernels/cuda EXCLUDE PATTERN apps/classifier EXCLUDE
  PATTERN apps/gpt2 EXCLUDE PATTERN apps/namegen EXCLUDE)
install(FILES tools/cli/main.hpp DESTINATION ${headers}/tools/cli)
install(FILES tools/runtime/job_file.hpp tools/runtime/run_job.hpp DESTINATION ${headers}/tools/runtime)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
configure_package_config_file(cmake/SluiceConfig.cmake.in sluiceConfig.cmake INSTALL_DESTINATION ${package}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(sluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sluiceConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/sluiceConfigVersion.cmake
  cmake/SluiceLibraries.cmake cmake/Finddnnl.cmake DESTINATION ${package})
install(EXPORT sluice NAMESPACE sluice:: FILE sluiceTargets.cmake DESTINATION ${package})
