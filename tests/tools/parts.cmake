# Parts of the program, tested without it: their sources are compiled in.
sluice_test(sluice_parts_test
  SOURCES
    driver_team_test.cpp
    progress_test.cpp
    ${CMAKE_SOURCE_DIR}/tools/driver_team.cpp
    ${CMAKE_SOURCE_DIR}/tools/progress.cpp
  LIBRARIES sluice_comm sluice_scheduler spdlog::spdlog
)
