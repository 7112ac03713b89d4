# Parts of the program, tested without it: their sources are compiled in.
sluice_test(sluice_parts_test
  SOURCES
    driver_team_test.cpp
    cost_cache_test.cpp
    progress_test.cpp
    ${CMAKE_SOURCE_DIR}/tools/cost_cache.cpp
    ${CMAKE_SOURCE_DIR}/tools/driver_team.cpp
    ${CMAKE_SOURCE_DIR}/tools/progress.cpp
  LIBRARIES sluice_comm sluice_scheduler nlohmann_json::nlohmann_json spdlog::spdlog
)
