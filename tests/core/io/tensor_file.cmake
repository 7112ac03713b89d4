sluice_test(tensor_file_test SOURCES tensor_file_test.cpp hostile_tensor_file_test.cpp ../../support/safetensors_writer.cpp
  LIBRARIES sluice_core nlohmann_json::nlohmann_json)
