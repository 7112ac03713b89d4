# Parts of the program, tested without it: their sources are compiled in.
sluice_test(sluice_parts_test
  SOURCES
    driver_team_test.cpp
    cost_cache_test.cpp
    job_attempts_test.cpp
    lone_compute_test.cpp
    progress_test.cpp
    run_monitor_test.cpp
    ${CMAKE_SOURCE_DIR}/tools/cost_cache.cpp
    ${CMAKE_SOURCE_DIR}/tools/driver_team.cpp
    ${CMAKE_SOURCE_DIR}/tools/job_attempts.cpp
    ${CMAKE_SOURCE_DIR}/tools/lone_compute.cpp
    ${CMAKE_SOURCE_DIR}/tools/progress.cpp
    ${CMAKE_SOURCE_DIR}/tools/progress_view.cpp
    ${CMAKE_SOURCE_DIR}/tools/run_monitor.cpp
  LIBRARIES sluice_comm sluice_scheduler sluice_slurm sluice_process_support nlohmann_json::nlohmann_json spdlog::spdlog
)

set(doctor ${CMAKE_SOURCE_DIR}/tools/doctor)
sluice_test(sluice_doctor_parts_test
  SOURCES
    doctor/diagnose_cores_test.cpp
    doctor/diagnose_gpus_test.cpp
    doctor/diagnose_launch_test.cpp
    doctor/diagnose_surroundings_test.cpp
    doctor/report_test.cpp
    doctor/sound_job.cpp
    ${doctor}/diagnose.cpp
    ${doctor}/diagnose_cores.cpp
    ${doctor}/diagnose_gpus.cpp
    ${doctor}/diagnose_launch.cpp
    ${doctor}/diagnose_surroundings.cpp
    ${doctor}/fact_groups.cpp
    ${doctor}/fact_lines.cpp
    ${doctor}/facts.cpp
    ${doctor}/finding.cpp
    ${doctor}/output_facts.cpp
    ${doctor}/remedies.cpp
    ${doctor}/report.cpp
    ${doctor}/slurm_version.cpp
  LIBRARIES sluice_comm nlohmann_json::nlohmann_json
)
