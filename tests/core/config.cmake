sluice_test(sluice_config_test
  SOURCES config_test.cpp config_generated_test.cpp config_overrides_test.cpp config_refusal_test.cpp
          closest_name_test.cpp
  LIBRARIES sluice_core
)
target_compile_definitions(sluice_config_test PRIVATE SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
