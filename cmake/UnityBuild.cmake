# With CMAKE_UNITY_BUILD, as all presets but dev have it, CMAKE_UNITY_BUILD_BATCH_SIZE sources of a target compile as one,
# because most of the time goes into the headers of others. These name something as a neighbour does, and compile alone.
# "redefinition of ... {anonymous}" in such a build: choose a better name, or add the source.
function(sluice_compile_alone target)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  if(TARGET ${target})
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

foreach(target sluice_kernels sluice_gpu_kernels sluice_torture_campaigns)  # in larger units their names meet
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
  endif()
endforeach()
sluice_compile_alone(sluice_core core/commit/file.cpp core/weights/weights_file.cpp)
sluice_compile_alone(sluice_kernels kernels/host/invariant_product.cpp kernels/host/linear.cpp
  kernels/host/norm_relu_pool.cpp kernels/host/symbol_conv.cpp)
sluice_compile_alone(sluice_apps apps/classifier/one_hot.cpp)
sluice_compile_alone(bench_readers tools/bench/dense_ways.cpp)
sluice_compile_alone(bench_kernels tools/bench/bench_forward.cpp)

# Kernels compile one by one, so that after a change to one of them it alone does; two thirds of that are headers too. Where
# they only have to compile, as in the preset cuda-quick, eight are one. CMake itself unites them from 3.31 on.
option(SLUICE_UNITE_KERNELS "Compile several CUDA sources at once" OFF)
function(sluice_unite_kernels target)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cu$")
  list(TRANSFORM sources PREPEND ${folder}/)
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
  set(unit 0)
  while(sources)
    list(SUBLIST sources 0 8 united)
    list(REMOVE_ITEM sources ${united})
    list(TRANSFORM united REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN united "" united)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/united/${target}_${unit}.cu CONTENT "${united}")
    target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/united/${target}_${unit}.cu)
    math(EXPR unit "${unit} + 1")
  endwhile()
endfunction()
if(SLUICE_UNITE_KERNELS AND SLUICE_CUDA)
  sluice_unite_kernels(sluice_gpu_kernels)
  if(TARGET sluice_wgmma)
    sluice_unite_kernels(sluice_wgmma)
  endif()
endif()
