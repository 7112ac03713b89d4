#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The folders whose limits of `controller` ("cpu", "memory") hold for a process whose /proc/self/cgroup is
/// `membership`: its own group's and those of the groups around it, of version 2 and of version 1. In a container they
/// may not all be there.
[[nodiscard]] std::vector<std::filesystem::path> cgroup_folders(std::string_view membership,
                                                                std::string_view controller);

/// The same for this process.
[[nodiscard]] std::vector<std::filesystem::path> own_cgroup_folders(std::string_view controller);

/// The first line of a file of the kernel's; empty when it is not there.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);

}  // namespace sluice
