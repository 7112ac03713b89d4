# With CMAKE_UNITY_BUILD, as all presets but dev have it, eight sources of a target compile as one, because most of the
# time goes into the headers of others. These name something as a neighbour does, and compile alone. "redefinition of ...
# {anonymous}" in such a build: add the source, or choose a better name.
function(sluice_compile_alone target)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  if(TARGET ${target})
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

sluice_compile_alone(sluice_slurm slurm/queue.cpp slurm/submission.cpp slurm/submit.cpp slurm/time_limit.cpp)
sluice_compile_alone(sluice_comm comm/mpi_worker.cpp)
sluice_compile_alone(sluice_kernels kernels/host/invariant_linear.cpp kernels/host/linear.cpp
  kernels/host/norm_relu_pool.cpp kernels/host/symbol_conv.cpp)
sluice_compile_alone(sluice_apps apps/classifier/one_hot.cpp)
sluice_compile_alone(sluice_doctor tools/doctor/fact_lines.cpp)
sluice_compile_alone(bench_readers tools/bench/dense_ways.cpp)
sluice_compile_alone(bench_kernels tools/bench/bench_forward.cpp)
sluice_compile_alone(sluice_topology_test tests/core/machine/topology_test.cpp tests/core/machine/topology_text_test.cpp)
sluice_compile_alone(output_test tests/core/output/row_encoder_test.cpp)
sluice_compile_alone(tensor_file_test tests/core/input/hostile_tensor_file_test.cpp)
sluice_compile_alone(comm_test tests/comm/hang_watch_test.cpp)
sluice_compile_alone(apps_test tests/apps/classifier_weights_test.cpp)
sluice_compile_alone(layers_test tests/layers/include_rules_test.cpp)
sluice_compile_alone(sluice_echo_support tests/e2e/echo_job.cpp)
sluice_compile_alone(commit_test tests/core/commit/committed_output_test.cpp)
sluice_compile_alone(kernels_test tests/kernels/operation_test.cpp)
