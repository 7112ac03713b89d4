# Every outside package that the libraries need, found once: when they are built, and by find_package(sluice), of which
# this file is a part. Debian's names stand in tools/packages.txt.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(MPI 3.1 COMPONENTS C)
find_dependency(Boost 1.74 COMPONENTS program_options)
find_dependency(fmt)
find_dependency(nlohmann_json)
find_dependency(dnnl 2.6...<4)
find_dependency(OpenMP COMPONENTS CXX)  # oneDNN's threads, which each worker limits to one
find_dependency(PkgConfig)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc>=2)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
if(SLUICE_CUDA)
  find_dependency(CUDAToolkit)
endif()
