# Machines as data, who gets what of them, and the threads of this one.
sluice_test(sluice_topology_test
  SOURCES binding_test.cpp cpu_set_test.cpp golden_placement_test.cpp gpu_share_test.cpp gpu_visibility_test.cpp
          placement_test.cpp text_diff_test.cpp topology_test.cpp topology_text_test.cpp ../support/text_diff.cpp
  LIBRARIES sluice_core
  WHOLE_STACKS
)
target_compile_definitions(sluice_topology_test PRIVATE SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
