# oneDNN by its header and library. Debian's own configuration file asks for OpenCL's headers, for a GPU runtime that is
# not used here. The versions that a caller asks for are compared with the header's.
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
set(dnnl_VERSION)
if(EXISTS "${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
  file(STRINGS "${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" numbers
    REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH)[ \t]+[0-9]+")
  list(TRANSFORM numbers REPLACE ".*[ \t]" "")
  list(JOIN numbers "." dnnl_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dnnl REQUIRED_VARS DNNL_LIBRARY DNNL_INCLUDE_DIR VERSION_VAR dnnl_VERSION
  HANDLE_VERSION_RANGE)
if(dnnl_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${DNNL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
endif()
mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY)
