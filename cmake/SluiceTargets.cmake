# sluice_library(NAME sources…): a static library of one folder, with the project's warnings.
# sluice_executable(NAME sources…): the same for a program.
option(SLUICE_WERROR "Take the C++ compiler's warnings for errors, as every preset does" OFF)
add_library(sluice_options INTERFACE)
set(shadow "-Wshadow$<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:=local>")  # a neighbour's constants are no global ones
target_compile_options(sluice_options INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;${shadow};$<$<BOOL:${SLUICE_WERROR}>:-Werror>;-fno-omit-frame-pointer>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-fno-omit-frame-pointer;--expt-relaxed-constexpr>")
# g++ compiles 32 sources at once with less than two gigabytes: before that, collecting garbage finds little and takes time.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(sluice_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=2097152>)
endif()
target_include_directories(sluice_options INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(sluice_options INTERFACE Threads::Threads)
if(SLUICE_SANITIZE)
  target_compile_options(sluice_options INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${SLUICE_SANITIZE};-fno-sanitize-recover=all>")
  target_link_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE})
else()
  target_compile_options(sluice_options INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong;$<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>>")
  target_link_options(sluice_options INTERFACE -Wl,-z,relro,-z,now)
endif()

# These options are the project's own: whoever uses an installed library has others.
function(sluice_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:sluice_options> Threads::Threads)
endfunction()

function(sluice_executable name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE sluice_options)
endfunction()
