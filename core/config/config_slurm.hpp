#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/config/config_reader.hpp"
#include "core/config/slurm_config.hpp"

namespace sluice {

/// The keys of [slurm] that are names, and where their values go.
inline constexpr std::array<std::pair<std::string_view, std::string SlurmConfig::*>, 13> slurm_names{
    {{"job_name", &SlurmConfig::job_name},
     {"partition", &SlurmConfig::partition},
     {"account", &SlurmConfig::account},
     {"qos", &SlurmConfig::qos},
     {"constraint", &SlurmConfig::constraint},
     {"reservation", &SlurmConfig::reservation},
     {"nodelist", &SlurmConfig::nodelist},
     {"exclude", &SlurmConfig::exclude},
     {"mail_user", &SlurmConfig::mail_user},
     {"mail_type", &SlurmConfig::mail_type},
     {"gpu_type", &SlurmConfig::gpu_type},
     {"mpi", &SlurmConfig::mpi},
     {"mem", &SlurmConfig::mem}}};

/// Sections [slurm] and [slurm.resume]. Throws Error (configuration).
[[nodiscard]] SlurmConfig build_slurm(const SettingsReader& job);

}  // namespace sluice
