#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/interface.hpp"
#include "core/machine/cpu_set.hpp"
#include "core/machine/topology.hpp"

namespace sluice {

enum class TopologyDetail {
    cpus,     ///< Packages, NUMA nodes and cores.
    devices,  ///< GPUs and NICs too, which takes longer.
};

/// Binding of the calling thread, by the operating system.
class Affinity : public Interface {
public:
    /// Binds the calling thread, and threads that it starts from now on, to `cpus`. Returns why it failed, or "". Some
    /// systems accept a request and bind elsewhere: compare get().
    [[nodiscard]] virtual std::string set(const CpuSet& cpus) = 0;

    /// Empty if unknown.
    [[nodiscard]] virtual CpuSet get() const = 0;
};

/// The machine that this process runs on.
struct Machine {
    Topology topology{};
    std::unique_ptr<Affinity> affinity{};  ///< Null if no thread can be bound: see why_unbindable.
};

/// "2.9.0": the version built against; at run time hwloc tells only its interface's version.
[[nodiscard]] std::string hwloc_version();

/// Reads this machine: equal in all processes of a node, except `allowed` and `mask`. If hwloc fails or describes
/// another machine (HWLOC_XMLFILE), a flat topology of the CPUs that this process may use, with `why_unbindable`.
[[nodiscard]] Machine read_machine(TopologyDetail detail);

/// A machine as written by `lstopo FILE.xml`; its mask is what was allowed there. Throws Error (no_input,
/// bad_data).
[[nodiscard]] Topology read_topology(const std::filesystem::path& xml);

}  // namespace sluice
